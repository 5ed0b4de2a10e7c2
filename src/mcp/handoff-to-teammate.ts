import * as z from 'zod'
import { checkIntent, checkSize, shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { tool, WRITES } from './tool.ts'

export const handoffToTeammate = tool({
  name: 'handoff_to_teammate',
  title: 'Hand work to a teammate',
  description:
    "Hands a piece of work, a question or a proposal to a teammate's agent, signed and encrypted. It cannot be recalled; only cancelled while pending. " +
    'Call it when the human wants somebody else to know, answer or continue. ' +
    'intent: inform (what you did), ask_question (you need an answer), propose_action (the other human has to approve proposed_action first). ' +
    'Write a summary that a stranger to this session understands, and attach what is needed as artifacts. ' +
    'Returns thread_id with status pending, and what is known of delivery; the teammate may be offline, then it is delivered later. ' +
    'similar names open handoffs that say nearly the same: look at them before you send again. ' +
    'Next: go on with your work, and look again with check_inbox or view_thread; do not wait in a loop.',
  annotations: WRITES,
  input: z.strictObject({
    to: shapes.id.describe('Handle of the teammate, like frank@acme; see list_teammates'),
    intent: shapes.intent,
    summary: shapes.filledText.describe('What the other side has to know, in plain text'),
    record: shapes.record.optional(),
    artifacts: shapes.artifacts.describe('At most 16, of up to 8 MiB each and 32 MiB together').optional(),
    question: shapes.filledText.describe('Only with intent ask_question').optional(),
    proposed_action: shapes.proposedAction.describe('Exactly with intent propose_action').optional(),
    parent_thread_id: shapes.id.describe('The thread that this one follows from').optional(),
  }),
  async run(input, { call, wrapper, signal, withKey }) {
    checkIntent(input)
    const { to, intent, summary, record, artifacts, question, proposed_action, parent_thread_id } = input
    checkSize({ summary, artifacts, record, question, proposed_action })
    const sent = await withKey(input, (metadata) => {
      const message = { role: 'user', parts: [{ type: 'text' as const, text: summary }] }
      const params = {
        recipient: to,
        intent,
        message,
        artifacts,
        question,
        proposed_action,
        record,
        parent_thread_id,
        metadata,
      }
      return call('message/send', params, { signal })
    })
    const { message_id, sequence_no, revision_id, artifact_ids, similar } = sent
    const next = `Look again later: view_thread with thread_id ${sent.thread_id}, or check_inbox with side out.`
    return answer(wrapper, {
      ...saidOf(sent),
      message_id,
      sequence_no,
      revision_id,
      artifact_ids,
      similar,
      next,
    })
  },
})
