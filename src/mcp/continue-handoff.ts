import * as z from 'zod'
import { checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const continueHandoff = tool({
  name: 'continue_handoff',
  title: 'Write the next revision of the record',
  description:
    'Writes a new revision of the continuity record of a handoff that is pending or accepted; both sides may. ' +
    'Call it when state, decisions, evidence or the next step have changed, so that somebody else can go on from it. ' +
    'Read the record with view_thread first and give its revision_id as expected_revision_id; of a forked record give all of record.shows, which settles it. ' +
    'Give only the fields of the record that change, each whole. Artifacts are kept; one of the same name replaces. ' +
    'resolves names annotations that this revision settles. ' +
    'stale_revision means that somebody wrote one meanwhile: nothing was written, read again. ' +
    'warnings are advice on what the record still lacks. Next: tell the human, or go on with the work.',
  annotations: WRITES,
  input: z.strictObject({
    thread_id: shapes.id,
    expected_revision_id: shapes.expectedRevisions.describe('The revision that you read; all heads of a fork'),
    record: shapes.recordChanges,
    artifacts: shapes.artifacts.describe('At most 16').optional(),
    note: shapes.text.describe('What changed, in a line').optional(),
    resolves: shapes.annotationIds.describe('annotation_id of each that this settles').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const { thread_id, expected_revision_id, record, artifacts, note, resolves } = input
    checkSize({ record, artifacts, note })
    const done = await withKey(input, (metadata) =>
      call(
        'relay/continue',
        { thread_id, expected_revision_id, record, artifacts, note, resolves, metadata },
        { signal },
      ),
    )
    const { revision_id, parents, artifact_ids, resolved } = done
    return answer(wrapper, { ...saidOf(done), revision_id, parents, artifact_ids, resolved })
  },
})
