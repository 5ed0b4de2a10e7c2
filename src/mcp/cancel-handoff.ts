import * as z from 'zod'
import { shapes } from '../rpc/client.ts'
import { answer } from './answer.ts'
import { saidOf } from './thread-view.ts'
import { ENDS, tool } from './tool.ts'

export const cancelHandoff = tool({
  name: 'cancel_handoff',
  title: 'Cancel a handoff',
  description:
    'Takes back a handoff that you sent, while it is still pending. It cannot be opened again. ' +
    'Call it when the human changes their mind, or before you send a corrected one. ' +
    'Returns status and final. final false means that the laptops in waiting_for have not confirmed it yet: ' +
    'if one of them accepted before it heard of this, the accept wins; look again with view_thread. ' +
    'state_changed means that it was accepted already: agree with the other side by send_message instead.',
  annotations: ENDS,
  input: z.strictObject({ thread_id: shapes.id, reason: shapes.text.optional() }),
  async run(input, { call, wrapper, signal, withKey }) {
    const cancelled = await withKey(input, (metadata) => call('tasks/cancel', { ...input, metadata }, { signal }))
    return answer(wrapper, saidOf(cancelled))
  },
})
