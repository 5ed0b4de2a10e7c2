import * as z from 'zod'
import { checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const annotateHandoff = tool({
  name: 'annotate_handoff',
  title: 'Annotate a revision or an artifact',
  description:
    'Adds an open annotation to a revision of the record, or to an artifact that it carries; both sides may, while the handoff is pending or accepted. ' +
    'Call it to question or correct one place without changing the record. selector quotes the words that it is about. ' +
    'assignee is the handle of somebody who takes part; it asks them to look, and gives no access to anything. ' +
    'Returns annotation_id. Next: the other side settles it with continue_handoff (resolves) or resolve_annotation.',
  annotations: WRITES,
  input: z.strictObject({
    thread_id: shapes.id,
    revision_id: shapes.id.describe('From view_thread'),
    body: shapes.filledText.describe('Plain text'),
    artifact_id: shapes.id.describe('If it is about an artifact of that revision').optional(),
    selector: shapes.selector.optional(),
    assignee: shapes.id.describe('Handle of a participant, like frank@acme').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const { thread_id, revision_id, body, artifact_id, selector, assignee } = input
    checkSize({ body, selector })
    const done = await withKey(input, (metadata) =>
      call('relay/annotate', { thread_id, revision_id, body, artifact_id, selector, assignee, metadata }, { signal }),
    )
    return answer(wrapper, { ...saidOf(done), annotation_id: done.annotation_id })
  },
})
