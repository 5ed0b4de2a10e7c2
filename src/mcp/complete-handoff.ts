import * as z from 'zod'
import { checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { ENDS, tool } from './tool.ts'

export const completeHandoff = tool({
  name: 'complete_handoff',
  title: 'Complete a handoff',
  description:
    'Ends a handoff that you accepted, with a result for the sender. It cannot be opened again. ' +
    'outcome: done, partial, or declined (you will not do it: say why in result_summary). Default: done. ' +
    'Call it when the work is finished and checked, or when the human decides against it. ' +
    'approval_required means that the human has not approved the proposed action: tell the human the command that the error names, and come back later. ' +
    'invalid_transition means that it is not accepted yet. Next: nothing; the sender is told.',
  annotations: ENDS,
  input: z.strictObject({
    thread_id: shapes.id,
    result_summary: shapes.filledText.describe('What was done, what was not, and how it was checked'),
    outcome: shapes.outcome.optional(),
    artifacts: shapes.artifacts.describe('At most 16').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const { result_summary, artifacts } = input
    checkSize({ result_summary, artifacts })
    const done = await withKey(input, (metadata) =>
      call('tasks/update', { ...input, status: 'completed', metadata }, { signal }),
    )
    return answer(wrapper, saidOf(done))
  },
})
