import * as z from 'zod'
import { answer } from './answer.ts'
import { READS, tool } from './tool.ts'

export const whoami = tool({
  name: 'whoami',
  title: 'Who am I on the relay',
  description:
    'Tells which person and laptop you act for on the relay, in which workspace, and how many teammates can be reached now. ' +
    'Call it first if you are unsure whether the relay is set up. ' +
    'node_state "alone" means that no workspace exists yet: ask the human to run `relay-node init` or `relay-node join`; you cannot do that.',
  annotations: READS,
  input: z.strictObject({}),
  async run(_, { call, wrapper, signal }) {
    const { handle, member, device, peer_id, workspaces, role, kind, owner, node_state, reachable_peers } = await call(
      'relay/whoami',
      {},
      { signal },
    )
    return answer(wrapper, {
      handle,
      member,
      device,
      peer_id,
      workspaces,
      role,
      kind,
      owner,
      node_state,
      reachable_peers,
    })
  },
})
