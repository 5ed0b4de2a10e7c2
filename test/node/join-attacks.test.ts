/** At the open door: whoever is not the inviter, or was not invited, is found out. */
import { describe, expect, test } from 'vitest'
import {
  encodeJoin,
  inviteKey,
  parseCode,
  parseJoin,
  prekeyPublic,
  rendezvousTag,
  signJoin,
  signPrekey,
  type SigningKey,
  signingKey,
} from '../../protocol/index.ts'
import { type Actor, actor, seedOf } from '../cast.ts'
import { bareNet, inviting, isIn, reason, states } from './inviting.ts'
import { refused, symbolOf } from './world.ts'

describe('whoever stands in between', () => {
  test('and answers in the inviter’s place without the secret is found out; the joiner gives nothing away that matters', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank' })
    const parsed = parseCode(code)
    if (!parsed.ok) throw new Error('a code')
    await bob.stop()
    const asked: string[] = []
    const mallory = await bareNet(world, 'mallory', async (stream) => {
      const frame = await stream.receive()
      const ask = frame && parseJoin(frame)
      if (!ask?.ok || ask.value.t !== 'ask') return
      asked.push(ask.value.key)
      const proof = 'ab'.repeat(32)
      const offered = { role: 'member', kind: 'person', owner: mallory.device, proof } as const
      await stream.send(encodeJoin({ t: 'offer', ws: proof, invite: proof, ...offered }))
      expect(await stream.receive()).toBeUndefined()
    })
    mallory.setJoinOpen(true)
    await mallory.advertise(rendezvousTag(parsed.value.secret))
    expect(await refused(frank.node.join({ code }))).toMatchObject({
      symbol: 'verification_failed',
      details: { reason: 'proof' },
    })
    expect(asked).toEqual([inviteKey(parsed.value.secret).public])
    expect(await isIn(frank)).toBe(false)
    await mallory.stop()
    await bob.start()
    await frank.node.join({ code })
  })

  test('and passes everything on is refused by the inviter, who sees another laptop than the one that asks', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank' })
    const parsed = parseCode(code)
    if (!parsed.ok) throw new Error('a code')
    const target = { device: bob.device, addresses: bob.net.addresses() }
    const mallory = await bareNet(world, 'mallory', async (stream) => {
      const onward = await mallory.openJoin(target, new AbortController().signal)
      for (let frame = await stream.receive(); frame; frame = await stream.receive()) {
        await onward.send(frame)
        const answer = await onward.receive()
        if (answer) await stream.send(answer)
      }
    })
    mallory.setJoinOpen(true)
    world.cut(bob, frank)
    await mallory.advertise(rendezvousTag(parsed.value.secret))
    expect(await reason(frank.node.join({ code }))).toBe('proof')
    expect(await states(bob)).toEqual(['open'])
    await mallory.stop()
  })

  test('and speaks something else is not the inviter', async () => {
    const world = await inviting()
    const { bob, frank } = world
    const { code } = await bob.node.invite({ name: 'frank' })
    const parsed = parseCode(code)
    if (!parsed.ok) throw new Error('a code')
    await bob.stop()
    const mallory = await bareNet(world, 'mallory', (stream) => stream.send(new Uint8Array([1, 2, 3])))
    mallory.setJoinOpen(true)
    await mallory.advertise(rendezvousTag(parsed.value.secret))
    expect(await symbolOf(frank.node.join({ code }))).toBe('verification_failed')
    await mallory.stop()
  })
})

test('a stranger who speaks nonsense at the open door changes nothing, and the next one is served', async () => {
  const world = await inviting()
  const { bob, frank } = world
  const { code } = await bob.node.invite({ name: 'frank', standalone: true })
  const mallory = await bareNet(world, 'mallory', async () => undefined)
  const device = mallory.device
  const asks = [
    new Uint8Array([0xff]),
    encodeJoin({ t: 'ask', v: 9, key: device, device, nonce: device }),
    encodeJoin({ t: 'ask', v: 1, key: device, device: bob.device, nonce: device }),
    encodeJoin({ t: 'ask', v: 1, key: device, device, nonce: device }),
    encodeJoin({
      t: 'claim',
      device_name: 'x',
      prekey: new Uint8Array(),
      invite_signature: '00'.repeat(64),
      device_signature: '00'.repeat(64),
    }),
  ]
  const answers = []
  for (const ask of asks) {
    const stream = await mallory.openJoin(
      { device: bob.device, addresses: bob.net.addresses() },
      new AbortController().signal,
    )
    await stream.send(ask)
    const frame = await stream.receive()
    const answer = frame && parseJoin(frame)
    answers.push(answer?.ok && answer.value.t === 'refused' ? answer.value.reason : answer)
    await stream.close()
  }
  expect(answers).toEqual([undefined, 'version', 'proof', 'unknown', undefined])
  expect(await frank.node.join({ code })).toMatchObject({ handle: 'frank@acme' })
  await mallory.stop()
})

test('a claim that is not signed with the secret, or names another’s key, is refused; the invite stays open', async () => {
  const world = await inviting()
  const { bob } = world
  const { code } = await bob.node.invite({ name: 'frank', standalone: true })
  const parsed = parseCode(code)
  if (!parsed.ok) throw new Error('a code')
  const key = inviteKey(parsed.value.secret)
  const mallory = actor('mallory')
  const net = await bareNet(world, 'mallory', async () => undefined)
  const claimWith = async (signer: Actor, withKey: SigningKey): Promise<unknown> => {
    const target = { device: bob.device, addresses: bob.net.addresses() }
    const stream = await net.openJoin(target, new AbortController().signal)
    const nonce = 'cd'.repeat(32)
    await stream.send(encodeJoin({ t: 'ask', v: 1, key: key.public, device: mallory.device, nonce }))
    const offer = parseJoin((await stream.receive()) ?? new Uint8Array())
    if (!offer.ok || offer.value.t !== 'offer') throw new Error('no offer')
    const { ws, invite } = offer.value
    const x25519 = await prekeyPublic(seedOf('x'))
    const fields = { ws, device: signer.device, counter: 1, x25519, mailbox: mallory.device, created: 0 }
    const prekey = signPrekey(fields, signer.key)
    const proof = signJoin({ ws, invite, device: mallory.device, prekey: prekey.id }, mallory.key, withKey)
    await stream.send(
      encodeJoin({
        t: 'claim',
        device_name: 'x',
        prekey: prekey.bytes,
        invite_signature: proof.inviteSignature ?? '',
        device_signature: proof.deviceSignature,
      }),
    )
    const answer = parseJoin((await stream.receive()) ?? new Uint8Array())
    await stream.close()
    return answer.ok && answer.value.t === 'refused' ? answer.value.reason : answer
  }
  expect(await claimWith(mallory, signingKey(seedOf('not the secret')))).toBe('proof')
  expect(await claimWith(actor('frank'), key)).toBe('proof')
  expect(await states(bob)).toEqual(['open'])
  expect((await bob.node.listTeammates({})).items).toHaveLength(1)
  await net.stop()
})
