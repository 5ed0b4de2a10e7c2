/** The part of a scripted node that shuts people out. */
import { type NodeApi, type Party, untrusted } from '../../src/node/api.ts'
import type { Script } from './script.ts'
import { TIME } from './scripted-record.ts'

type RemovalApi = Pick<NodeApi, 'members' | 'remove' | 'listQuarantine' | 'admitQuarantined'>

export function removalCalls(enter: Script['enter'], peer: Party, peerText: string): RemovalApi {
  const kept = (thread_id: string) => ({
    thread_id,
    intent: 'inform' as const,
    from: peer,
    to: 'bob@acme',
    status: 'pending' as const,
    received_at: TIME,
    preview: { untrusted: untrusted(peerText) },
  })
  return {
    async members() {
      await enter('members', {})
      return { items: [] }
    },
    async remove(params) {
      await enter('remove', params)
      const gone = { removed: [peer.device], last_device: true, stops_now: ['bob/mbp'], later: [], unconfirmed: [] }
      return { handle: peer.handle, member_removed: false, ...gone, open_invites: 0 }
    },
    async listQuarantine() {
      await enter('listQuarantine', {})
      return { items: [kept('ho_kept')] }
    },
    async admitQuarantined(params) {
      await enter('admitQuarantined', params)
      return kept(params.thread_id)
    },
  }
}
