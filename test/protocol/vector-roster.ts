/** Roster entries that the state before them does not allow. */
import {
  encodeCanonical,
  hash,
  type Hex,
  inviteKey,
  type RosterCtl,
  sign,
  signJoin,
  type SigningKey,
  signingKey,
  signRosterEntry,
  type Value,
} from '../../protocol/index.ts'
import {
  actor,
  type Actor,
  alice,
  bob,
  bob2,
  carol,
  deviceCtl,
  mustAdmit,
  seedOf,
  type Workspace,
  wrapFor,
} from '../cast.ts'
import { refusalCase, type RefusalCase } from './cases/refusal-case.ts'
import { headerOf } from './cases/roster.ts'
import { admitted } from './vector-exhibits.ts'
import { team } from './vector-history.ts'

const successor = signingKey(seedOf('successor', 'acme'))
const invited = { role: 'member', kind: 'person', expires: 0 } as const

function secretOf(name: string): SigningKey {
  return inviteKey(seedOf('secret', name).subarray(0, 16))
}

function invite(workspace: Workspace, name: string): Hex {
  return workspace.write('invite', { ...invited, key: secretOf(name).public, name })[1]
}

function join(workspace: Workspace, laptop: Actor, by: { member: Hex; invite: Hex; name: string }) {
  const plain = deviceCtl(workspace, by.member, laptop)
  const stated = { ws: workspace.ws, invite: by.invite, device: laptop.device, prekey: plain.prekey }
  const proof = signJoin(stated, laptop.key, secretOf(by.name))
  const ctl: RosterCtl<'add-device'> = {
    ...plain,
    invite: by.invite,
    invite_signature: proof.inviteSignature,
    device_signature: proof.deviceSignature,
  }
  return ctl
}

/** A header that says anything, signed by the owner. */
function signedBy(workspace: Workspace, change: { readonly [key: string]: Value }) {
  const plain = headerOf(workspace.draft('set-bootstrap', { addresses: [] }))
  const header = encodeCanonical({ ...plain, ...change })
  return { envelope: encodeCanonical([header, sign(bob.key, 'roster', [header])]) }
}

export const ROSTER_STATE_CASES: readonly RefusalCase[] = [
  refusalCase('unknown_version', 'a roster entry of version 2', (wrong) => {
    const workspace = team([])
    return admitted(workspace.log, signedBy(workspace, { v: wrong ? 2 : 1 }))
  }),
  refusalCase('schema', 'an address of more than 256 bytes, though of fewer characters', (wrong) => {
    const workspace = team([])
    return admitted(workspace.log, signedBy(workspace, { ctl: { addresses: ['é'.repeat(wrong ? 129 : 128)] } }))
  }),
  refusalCase('schema', 'seventeen addresses', (wrong) => {
    const workspace = team([])
    const addresses = Array.from({ length: wrong ? 17 : 16 }, () => '')
    return admitted(workspace.log, signedBy(workspace, { ctl: { addresses } }))
  }),
  refusalCase('schema', 'a name with a capital letter', (wrong) => {
    const workspace = team([])
    const ctl = { name: wrong ? 'Alice' : 'alice', role: 'member', kind: 'person', invite: null }
    return admitted(workspace.log, signedBy(workspace, { kind: 'add-member', ctl }))
  }),
  refusalCase('roster_state', 'a laptop for a member that was removed', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    if (wrong) workspace.write('remove-member', { member: workspace.member('alice') })
    return admitted(workspace.log, workspace.draft('add-device', ctl))
  }),
  refusalCase('roster_state', 'a ninth laptop of a member', (wrong) => {
    const laptops = Array.from({ length: wrong ? 8 : 7 }, (_, i) => actor(`alice${i}`))
    const workspace = team(laptops)
    return admitted(
      workspace.log,
      workspace.draft('add-device', deviceCtl(workspace, workspace.member('alice'), carol)),
    )
  }),
  refusalCase('roster_state', 'two laptops of one name', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    return admitted(workspace.log, workspace.draft('add-device', { ...ctl, name: wrong ? 'alice' : 'carol' }))
  }),
  refusalCase('roster_state', 'an invite for another name', (wrong) => {
    const workspace = team([alice])
    const by = { invite: invite(workspace, 'carol'), name: 'carol' }
    const member = workspace.write('add-member', {
      name: 'carol',
      role: 'member',
      kind: 'person',
      invite: by.invite,
    })[1]
    const ctl = join(workspace, carol, { ...by, member: wrong ? workspace.member('alice') : member })
    return admitted(workspace.log, workspace.draft('add-device', ctl))
  }),
  refusalCase('roster_state', 'a second laptop by one invite', (wrong) => {
    const workspace = team([])
    const by = { invite: invite(workspace, 'carol'), name: 'carol' }
    const member = workspace.write('add-member', {
      name: 'carol',
      role: 'member',
      kind: 'person',
      invite: by.invite,
    })[1]
    if (wrong) workspace.write('add-device', join(workspace, carol, { ...by, member }))
    return admitted(workspace.log, workspace.draft('add-device', join(workspace, actor('carol2'), { ...by, member })))
  }),
  refusalCase('roster_proof', 'an invite without its signature', (wrong) => {
    const workspace = team([])
    const by = { invite: invite(workspace, 'carol'), name: 'carol' }
    const member = workspace.write('add-member', {
      name: 'carol',
      role: 'member',
      kind: 'person',
      invite: by.invite,
    })[1]
    const ctl = join(workspace, carol, { ...by, member })
    return admitted(workspace.log, workspace.draft('add-device', wrong ? { ...ctl, invite_signature: null } : ctl))
  }),
  refusalCase('roster_state', 'a laptop removed twice', (wrong) => {
    const workspace = team([alice])
    if (wrong) workspace.write('remove-device', { device: alice.device })
    return admitted(workspace.log, workspace.draft('remove-device', { device: alice.device }))
  }),
  refusalCase('roster_state', 'the owner’s member removed', (wrong) => {
    const workspace = team([alice])
    return admitted(
      workspace.log,
      workspace.draft('remove-member', { member: workspace.member(wrong ? 'bob' : 'alice') }),
    )
  }),
  refusalCase('roster_state', 'a member removed twice', (wrong) => {
    const workspace = team([alice])
    const member = workspace.member('alice')
    if (wrong) workspace.write('remove-member', { member })
    return admitted(workspace.log, workspace.draft('remove-member', { member }))
  }),
  refusalCase('roster_state', 'another role for the owner', (wrong) => {
    const workspace = team([alice])
    const member = workspace.member(wrong ? 'bob' : 'alice')
    return admitted(workspace.log, workspace.draft('set-role', { member, role: 'reader' }))
  }),
  refusalCase('roster_state', 'two invites of one key', (wrong) => {
    const workspace = team([])
    invite(workspace, 'carol')
    const { public: key } = secretOf(wrong ? 'carol' : 'dave')
    return admitted(workspace.log, workspace.draft('invite', { ...invited, key, name: 'dave' }))
  }),
  refusalCase('roster_state', 'an invite for a name that is taken', (wrong) => {
    const workspace = team([alice])
    const { public: key } = secretOf('alice')
    return admitted(workspace.log, workspace.draft('invite', { ...invited, key, name: wrong ? 'alice' : 'dave' }))
  }),
  refusalCase('roster_state', 'an invite revoked twice', (wrong) => {
    const workspace = team([])
    const id = invite(workspace, 'carol')
    if (wrong) workspace.write('revoke-invite', { invite: id })
    return admitted(workspace.log, workspace.draft('revoke-invite', { invite: id }))
  }),
  refusalCase('wrap_cover', 'a new key for a removed laptop too', (wrong) => {
    const workspace = team([alice])
    workspace.write('remove-device', { device: alice.device })
    const wraps = [bob, ...(wrong ? [alice] : [])].map(({ device }) => wrapFor(device))
    return admitted(workspace.log, workspace.draft('rekey', { epoch: 1, commit: '66'.repeat(32), wraps }))
  }),
  refusalCase('wrap_cover', 'a key for another laptop than the one that is added', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    const wraps = [wrapFor(wrong ? alice.device : carol.device)]
    return admitted(workspace.log, workspace.draft('add-device', { ...ctl, wraps }))
  }),
  refusalCase('roster_state', 'a handover to a laptop that was removed', (wrong) => {
    const workspace = team([alice, bob2])
    if (wrong) workspace.write('remove-device', { device: alice.device })
    const ctl = { key: successor.public, device: alice.device, successor: hash('payload', ['next']) }
    return admitted(workspace.log, signRosterEntry(workspace.draft('handover', ctl).header, successor))
  }),
  refusalCase('roster_author', 'the old owner after a handover', (wrong) => {
    const workspace = team([bob2])
    const ctl = { key: successor.public, device: bob2.device, successor: hash('payload', ['next']) }
    mustAdmit(workspace.log, signRosterEntry(workspace.draft('handover', ctl).header, successor))
    const next = workspace.draft('set-bootstrap', { addresses: [] }).header
    return admitted(workspace.log, signRosterEntry(next, wrong ? bob.key : bob2.key))
  }),
]
