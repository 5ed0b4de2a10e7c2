import * as z from 'zod'
import { checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { showAnnotation } from './record-view.ts'
import { saidOf } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const resolveAnnotation = tool({
  name: 'resolve_annotation',
  title: 'Resolve an annotation',
  description:
    'Marks an open annotation as settled by a revision of the record, named in resolved_revision_id. ' +
    'Call it where an existing revision answers the annotation already; when you write the revision yourself, name the annotation in resolves of continue_handoff. ' +
    'state_changed means that it was resolved already. Returns the annotation. Next: go on with the work.',
  annotations: WRITES,
  input: z.strictObject({
    thread_id: shapes.id,
    annotation_id: shapes.id,
    resolved_revision_id: shapes.id.describe('The revision that settles it'),
    note: shapes.text.optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const { thread_id, annotation_id, resolved_revision_id, note } = input
    checkSize({ note })
    const done = await withKey(input, (metadata) =>
      call('relay/resolve', { thread_id, annotation_id, resolved_revision_id, note, metadata }, { signal }),
    )
    return answer(wrapper, { ...saidOf(done), annotation: showAnnotation(done.annotation, thread_id, wrapper) })
  },
})
