import { describe, expect, test } from 'vitest'
import {
  activeDevices,
  admitRosterEntry,
  chainTo,
  checkJoinProof,
  currentRoster,
  descendsFrom,
  devicesOf,
  emptyRosterLog,
  encodeCanonical,
  hash,
  inviteKey,
  isForked,
  memberByName,
  parseRosterEntry,
  ROSTER_ENTRY_SIZE_BYTES_MAX,
  signJoin,
  signRosterEntry,
  signingKey,
} from '../../protocol/index.ts'
import {
  acme,
  alice,
  bob,
  bob2,
  carol,
  CLOCK_MS,
  deviceCtl,
  foundWorkspace,
  frank,
  frank2,
  mallory,
  mustAdmit,
  seedOf,
  wrapFor,
} from '../cast.ts'
import { replay } from './cases/roster.ts'

describe('a roster', () => {
  test('says who is in, and can be rebuilt from its bytes', () => {
    const workspace = acme()
    const roster = workspace.roster()
    expect([...roster.members.values()].map(({ name }) => name)).toEqual(['bob', 'frank', 'alice', 'mallory'])
    expect(devicesOf(roster, workspace.member('frank')).map(({ key }) => key)).toEqual([frank.device, frank2.device])
    expect(currentRoster(replay(workspace))).toEqual(roster)
  })

  test('waits for an entry’s predecessor', () => {
    const workspace = acme()
    const [genesis, second, third] = chainTo(workspace.log, workspace.roster().point)
    if (!genesis || !second || !third) throw new Error('too short')
    const log = emptyRosterLog()
    expect(admitRosterEntry(log, third)).toBeUndefined()
    for (const entry of [genesis, second, third, third]) mustAdmit(log, entry)
    expect(log.heads).toEqual(new Set([third.id]))
  })

  test('descends from its earlier points and not from its later ones', () => {
    const workspace = acme()
    const before = workspace.roster().point
    const after = workspace.write('set-bootstrap', { addresses: ['/dns4/relay.example/tcp/1'] })
    expect([descendsFrom(workspace.log, after, before), descendsFrom(workspace.log, before, after)]).toEqual([
      true,
      false,
    ])
    expect(workspace.roster().bootstrap).toEqual(['/dns4/relay.example/tcp/1'])
  })

  test('keeps both branches of a fork, and acts by one that all choose alike', () => {
    const workspace = acme()
    const branches = ['left', 'right'].map((address) => workspace.draft('set-bootstrap', { addresses: [address] }))
    for (const branch of branches) mustAdmit(workspace.log, branch)
    expect(isForked(workspace.log)).toBe(true)
    const log = emptyRosterLog()
    const chain = [...chainTo(workspace.log, workspace.roster().point).slice(0, -1), ...branches.toReversed()]
    for (const entry of chain) mustAdmit(log, entry)
    expect(currentRoster(log)).toEqual(currentRoster(workspace.log))
  })

  test('passes to the successor’s device by handover, and to nobody else’s', () => {
    const workspace = acme()
    const successor = signingKey(seedOf('successor', 'acme'))
    const { header } = workspace.draft('handover', {
      key: successor.public,
      device: alice.device,
      successor: '00'.repeat(32),
    })
    expect(mustAdmit(workspace.log, signRosterEntry(header, successor)).owner).toBe(alice.device)
    const next = workspace.draft('remove-device', { device: bob.device }).header
    expect(admitRosterEntry(workspace.log, signRosterEntry(next, bob.key))).toMatchObject({ refusal: 'roster_author' })
    expect(admitRosterEntry(workspace.log, signRosterEntry(next, alice.key))).toMatchObject({ ok: true })
  })

  test('removes a member with all its laptops, and frees the name', () => {
    const workspace = acme()
    workspace.write('remove-member', { member: workspace.member('frank') })
    const roster = workspace.roster()
    expect(memberByName(roster, 'frank')).toBeUndefined()
    expect(activeDevices(roster).map(({ key }) => key)).toEqual([bob.device, bob2.device, alice.device, mallory.device])
    workspace.enrol('frank', [carol])
    expect(workspace.member('frank')).toBe(workspace.roster().devices.get(carol.device)?.member)
  })

  test('has room for eight laptops a member', () => {
    const workspace = foundWorkspace(bob, 'small')
    const laptops = Array.from({ length: 9 }, (_, i) => {
      const key = signingKey(seedOf('laptop', i))
      return { ...carol, name: `laptop-${i}`, key, device: key.public }
    })
    const member = workspace.enrol('carol', laptops.slice(0, 8))
    const ninth = workspace.draft('add-device', deviceCtl(workspace, member, laptops[8] ?? carol))
    expect(admitRosterEntry(workspace.log, ninth)).toMatchObject({ refusal: 'roster_state' })
  })

  test('sets roles and rekeys', () => {
    const workspace = acme()
    workspace.write('set-role', { member: workspace.member('alice'), role: 'reader' })
    const wraps = activeDevices(workspace.roster()).map(({ key }) => wrapFor(key))
    workspace.write('rekey', { epoch: 1, commit: '77'.repeat(32), wraps })
    expect(workspace.roster()).toMatchObject({ epoch: 1, commit: '77'.repeat(32) })
    expect(memberByName(workspace.roster(), 'alice')?.role).toBe('reader')
  })
})

describe('an invite', () => {
  const secret = seedOf('invite').subarray(0, 16)

  function invited() {
    const workspace = acme()
    const key = inviteKey(secret)
    const invite = workspace.write('invite', {
      key: key.public,
      name: 'carol',
      role: 'member',
      kind: 'person',
      expires: CLOCK_MS,
    })[1]
    const prekey = hash('prekey-id', ['carol'])
    const member = () => workspace.write('add-member', { name: 'carol', role: 'member', kind: 'person', invite })[1]
    const add = (of: string, proof: ReturnType<typeof signJoin>) =>
      workspace.draft('add-device', {
        ...deviceCtl(workspace, of, carol),
        prekey,
        invite,
        invite_signature: proof.inviteSignature,
        device_signature: proof.deviceSignature,
      })
    return { workspace, key, invite, member, add, stated: { ws: workspace.ws, invite, device: carol.device, prekey } }
  }

  test('lets in the joiner whose keys it signed, once', () => {
    const { workspace, key, invite, member, add, stated } = invited()
    const id = member()
    const proof = signJoin(stated, carol.key, key)
    expect(checkJoinProof(stated, key.public, proof)).toBe(true)
    const entry = add(id, proof)
    mustAdmit(workspace.log, entry)
    expect(workspace.roster().invites.get(invite)?.state).toBe('used')
    expect(workspace.roster().devices.get(carol.device)?.member).toBe(id)
    expect(admitRosterEntry(workspace.log, add(id, proof))).toMatchObject({ refusal: 'roster_state' })
  })

  test('does not let in whoever overheard the proof and puts in other keys', () => {
    const { workspace, key, member, add, stated } = invited()
    const id = member()
    for (const swapped of [
      { ...stated, prekey: hash('prekey-id', ['mallory']) },
      { ...stated, device: mallory.device },
      { ...stated, ws: stated.prekey },
    ])
      expect(admitRosterEntry(workspace.log, add(id, signJoin(swapped, carol.key, key)))).toMatchObject({
        refusal: 'roster_proof',
      })
    expect(admitRosterEntry(workspace.log, add(id, signJoin(stated, carol.key, mallory.key)))).toMatchObject({
      refusal: 'roster_proof',
    })
    expect(admitRosterEntry(workspace.log, add(id, signJoin(stated, carol.key, null)))).toMatchObject({
      refusal: 'roster_proof',
    })
  })

  test('that is withdrawn lets nobody in', () => {
    const { workspace, key, invite, member, add, stated } = invited()
    const id = member()
    workspace.write('revoke-invite', { invite })
    expect(admitRosterEntry(workspace.log, add(id, signJoin(stated, carol.key, key)))).toMatchObject({
      refusal: 'roster_state',
    })
  })

  test('for one name lets in no laptop of another member', () => {
    const { workspace, key, add, stated } = invited()
    const entry = add(workspace.member('alice'), signJoin(stated, carol.key, key))
    expect(admitRosterEntry(workspace.log, entry)).toMatchObject({ refusal: 'roster_state' })
  })
})

test.each(['', 'Frank', '-frank', 'fränk', 'frank\n', 'f'.repeat(33), 'a b', 'frank@acme'])('%j is no name', (name) => {
  const parse = (written: string) => {
    const ctl = { name: written, role: 'member', kind: 'person', invite: null }
    const header = encodeCanonical({
      v: 1,
      ws: seedOf('ws'),
      n: 1,
      prev: seedOf('prev'),
      kind: 'add-member',
      ctl,
      ts: 0,
    })
    return parseRosterEntry(encodeCanonical([header, new Uint8Array(64)]))
  }
  expect(parse('frank')).toMatchObject({ ok: true })
  expect(parse(name)).toMatchObject({ refusal: 'schema' })
})

test('an entry of more than 32 KiB is refused by its size, before anything is read', () => {
  expect(parseRosterEntry(new Uint8Array(ROSTER_ENTRY_SIZE_BYTES_MAX))).toMatchObject({ refusal: 'not_canonical' })
  expect(parseRosterEntry(new Uint8Array(ROSTER_ENTRY_SIZE_BYTES_MAX + 1))).toMatchObject({ refusal: 'oversize' })
})
