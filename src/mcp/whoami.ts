import * as z from 'zod'
import { answer } from './answer.ts'
import { READS, tool } from './tool.ts'

export const whoami = tool({
  name: 'whoami',
  title: 'Who am I on the relay',
  description:
    'Tells which person and laptop you act for on the relay, in which workspace, and how many teammates can be reached now. ' +
    'Call it first if you are unsure whether the relay is set up. ' +
    'scope "read" means that you may read and nothing else. ' +
    'node_state "alone" means that no workspace exists yet: ask the human to run `relay-node init` or `relay-node join`; you cannot do that.',
  annotations: READS,
  input: z.strictObject({}),
  async run(_, { call, wrapper, signal }) {
    const me = await call('relay/whoami', {}, { signal })
    const { handle, member, device, peer_id, workspaces, role, kind, scope, session, owner } = me
    const { node_state, reachable_peers } = me
    return answer(wrapper, {
      handle,
      member,
      device,
      peer_id,
      workspaces,
      role,
      kind,
      scope,
      session: session && { name: session.name, scope: session.scope, expires_at: session.expires_at },
      owner,
      node_state,
      reachable_peers,
    })
  },
})
