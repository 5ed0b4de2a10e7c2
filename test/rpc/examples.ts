/** One good call of every method, and the part of the node that answers it. */
import { isMethod, type MethodName, type Methods } from '../../src/rpc/schema.ts'
import { FRANKS_THREAD } from './scripted-node.ts'

export const text = (value: string) => ({ parts: [{ type: 'text' as const, text: value }] })
export const HANDOFF = { recipient: 'frank@acme', intent: 'inform', message: text('Done.') } as const

export const examples: { [M in MethodName]: { params: Methods[M]['params']; asked: string | undefined } } = {
  'message/send': { params: HANDOFF, asked: 'sendHandoff' },
  'tasks/get': { params: { thread_id: FRANKS_THREAD, mark_read: true }, asked: 'getThread' },
  'tasks/list': { params: { status: ['pending'], side: 'in', limit: 200, wait_s: 0.5 }, asked: 'listThreads' },
  'tasks/update': { params: { thread_id: FRANKS_THREAD, status: 'accepted' }, asked: 'accept' },
  'tasks/cancel': { params: { thread_id: FRANKS_THREAD, reason: '' }, asked: 'cancel' },
  'agents/list': { params: { role: 'member' }, asked: 'listTeammates' },
  'relay/hello': { params: { from_the_future: true }, asked: undefined },
  'relay/whoami': { params: {}, asked: 'whoami' },
  'relay/status': { params: {}, asked: 'status' },
  'relay/stop': { params: {}, asked: undefined },
  'relay/artifact': {
    params: { thread_id: FRANKS_THREAD, artifact_id: 'art_1', offset: 0, max_bytes: 32 * 1024 },
    asked: 'readArtifact',
  },
  'relay/continue': {
    params: { thread_id: FRANKS_THREAD, expected_revision_id: ['rev_1', 'rev_2'], record: { open_questions: [] } },
    asked: 'continueHandoff',
  },
  'relay/export': { params: { thread_id: FRANKS_THREAD, cursor: '0' }, asked: 'exportThread' },
  'relay/annotate': { params: { thread_id: FRANKS_THREAD, revision_id: 'rev_1', body: 'why?' }, asked: 'annotate' },
  'relay/resolve': {
    params: { thread_id: FRANKS_THREAD, annotation_id: 'ann_1', resolved_revision_id: 'rev_1' },
    asked: 'resolve',
  },
  'relay/invite': {
    params: { name: 'ci', expires_s: 2, standalone: true, role: 'reader', kind: 'service' },
    asked: 'invite',
  },
  'relay/invites': { params: {}, asked: 'listInvites' },
  'relay/invite-revoke': { params: { invite_id: 'inv_1' }, asked: 'revokeInvite' },
  'relay/members': { params: {}, asked: 'members' },
  'relay/remove': { params: { name: 'frank/frank-xps' }, asked: 'remove' },
  'relay/quarantine': { params: {}, asked: 'listQuarantine' },
  'relay/quarantine-admit': { params: { thread_id: FRANKS_THREAD }, asked: 'admitQuarantined' },
  'relay/bootstrap': { params: {}, asked: 'listBootstrap' },
  'relay/bootstrap-use': { params: { addresses: ['/dns4/a/tcp/1'] }, asked: 'useBootstrap' },
  'relay/bootstrap-drop': { params: { address: '/dns4/a/tcp/1' }, asked: 'dropBootstrap' },
  'relay/join': { params: { code: 'relay1code' }, asked: 'join' },
  'relay/approve': { params: { thread_id: FRANKS_THREAD, digest: 'ab'.repeat(32) }, asked: 'approve' },
  'relay/reject': { params: { thread_id: FRANKS_THREAD, digest: 'ab'.repeat(32), reason: 'no' }, asked: 'reject' },
  'relay/role': { params: { handle: 'frank@acme', role: 'reader' }, asked: 'setRole' },
  'relay/session-create': { params: { scope: 'read', name: 'review', expires_s: 60 }, asked: 'createSession' },
  'relay/sessions': { params: {}, asked: 'listSessions' },
  'relay/session-revoke': { params: { name: 'review' }, asked: 'revokeSession' },
  'relay/share': { params: { thread_id: FRANKS_THREAD, reader: 'carol@acme' }, asked: 'share' },
  'relay/ping': { params: { handle: 'frank@acme' }, asked: 'ping' },
}

export const names = Object.keys(examples).filter(isMethod)
