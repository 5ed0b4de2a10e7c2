import * as z from 'zod'
import { checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const sendMessage = tool({
  name: 'send_message',
  title: 'Send a message in a thread',
  description:
    'Adds a message to a handoff that is pending or accepted; both sides may write. ' +
    'Call it to ask, to answer, or to report progress. It is signed and cannot be recalled. ' +
    'Returns message_id, its number in the thread, and what is known of delivery. ' +
    'thread_terminal means that the handoff is completed or cancelled: start a new one with handoff_to_teammate and parent_thread_id. ' +
    'Next: go on with other work; the answer shows up in check_inbox.',
  annotations: WRITES,
  input: z.strictObject({
    thread_id: shapes.id,
    body: shapes.filledText.describe('Plain text'),
    payload: shapes.payload.describe("Any JSON for the other side's program").optional(),
    artifacts: shapes.artifacts.describe('At most 16').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    const { thread_id, body, payload, artifacts } = input
    checkSize({ body, payload, artifacts })
    const sent = await withKey(input, (metadata) => {
      const message = { role: 'user', parts: [{ type: 'text' as const, text: body }] }
      return call('message/send', { thread_id, message, payload, artifacts, metadata }, { signal })
    })
    const { message_id, sequence_no, artifact_ids } = sent
    return answer(wrapper, { ...saidOf(sent), message_id, sequence_no, artifact_ids })
  },
})
