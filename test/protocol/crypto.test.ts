import { ed25519 } from '@noble/curves/ed25519.js'
import { describe, expect, test } from 'vitest'
import { checkSigningKey, derive, fromHex, hash, mac, prekeyPublic, sign, toHex, verify } from '../../protocol/index.ts'
import { checkPrekey, openPadded, paddedSize, sealPadded, tagged, unwrapKey, wrapKey } from '../../protocol/crypto.ts'
import { PADDED_SIZES_BYTES } from '../../protocol/index.ts'
import { bob, frank, mallory, seedOf } from '../cast.ts'
import { WEAK_KEYS } from './cases/roster.ts'

/** What libp2p signs, hashes or derives from begins with one of these. */
const LIBP2P_DOMAINS = [
  'libp2p-signed-peer-record',
  'libp2p-routing-state',
  'libp2p-relay-rsvp',
  'libp2p-pubsub:',
  'noise-libp2p-static-key:',
  'libp2p-tls-handshake:',
  'Noise_XX_25519_ChaChaPoly_SHA256',
]

describe('domain tags', () => {
  test('what is made here begins as nothing of libp2p’s does', () => {
    const ours = Buffer.from(tagged('entry', []))
    for (const domain of LIBP2P_DOMAINS) {
      const theirs = Buffer.from(domain)
      const length = Math.min(ours.length, theirs.length)
      expect(ours.subarray(0, length).equals(theirs.subarray(0, length))).toBe(false)
      // libp2p's signed envelopes write the length of the domain first.
      expect(ours[0]).not.toBe(theirs.length)
    }
    expect(ours.toString('latin1')).toMatch(/^relay-node\/1\/entry\0/)
  })

  test('no tag is the beginning of another, since each ends with a zero byte', () => {
    expect(tagged('join', []).at('relay-node/1/join'.length)).toBe(0)
    expect(tagged('join-owner', []).at('relay-node/1/join'.length)).not.toBe(0)
  })

  test('a signature for one purpose means nothing for another', () => {
    const signature = sign(bob.key, 'entry', ['x'])
    expect(verify(bob.device, signature, 'entry', ['x'])).toBe(true)
    expect(verify(bob.device, signature, 'roster', ['x'])).toBe(false)
    expect(verify(frank.device, signature, 'entry', ['x'])).toBe(false)
    expect(verify(bob.device, signature, 'entry', ['x', null])).toBe(false)
  })

  test('hashes, keys and codes of two purposes differ', () => {
    const key = seedOf('key')
    expect(hash('heads', [])).not.toBe(hash('digest', []))
    expect(mac(key, 'action', [])).not.toBe(mac(key, 'join-owner', []))
    expect(derive(key, key, 'body', [])).not.toEqual(derive(key, key, 'envelope', []))
  })
})

describe('Ed25519', () => {
  const signature = sign(bob.key, 'entry', ['x'])

  test.each(Object.entries(WEAK_KEYS))('refuses a key: %s', (_, key) => {
    expect(checkSigningKey(key)).toMatchObject({ ok: false, refusal: 'weak_key' })
  })

  test('refuses a key with a part of small order, which cofactored verifiers take for its twin', () => {
    const torsion = ed25519.Point.fromHex(WEAK_KEYS['order 8'])
    const mixed = ed25519.Point.fromHex(bob.device).add(torsion).toHex()
    expect(checkSigningKey(mixed)).toMatchObject({ ok: false, refusal: 'weak_key' })
    expect(checkSigningKey(bob.device).ok).toBe(true)
  })

  test('refuses bytes that are no point', () => {
    expect(checkSigningKey(`02${'00'.repeat(31)}`)).toMatchObject({ ok: false, refusal: 'weak_key' })
    expect(checkSigningKey('').ok).toBe(false)
  })

  test('one signature has one form: S plus the group order does not verify', () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const s = BigInt(`0x${toHex(signature.slice(32).toReversed())}`) + order
    const malleable = new Uint8Array(signature)
    malleable.set(fromHex(s.toString(16).padStart(64, '0')).toReversed(), 32)
    expect(verify(bob.device, malleable, 'entry', ['x'])).toBe(false)
  })

  test('junk in place of a key or a signature does not verify and does not throw', () => {
    expect(verify('', signature, 'entry', ['x'])).toBe(false)
    expect(verify('ff'.repeat(32), signature, 'entry', ['x'])).toBe(false)
    expect(verify(bob.device, new Uint8Array(0), 'entry', ['x'])).toBe(false)
    expect(verify(bob.device, new Uint8Array(65), 'entry', ['x'])).toBe(false)
  })

  test('more keys than are remembered still verify', () => {
    for (let i = 0; i < 1100; i++) verify(hash('payload', [i]), signature, 'entry', ['x'])
    expect(verify(bob.device, signature, 'entry', ['x'])).toBe(true)
  })
})

describe('wrapped keys', () => {
  const to = async () => prekeyPublic(frank.prekeySeed)
  const wrap = async (ekm: Uint8Array) =>
    wrapKey({ key: seedOf('key'), to: await to(), ekm, purpose: 'wrap', info: ['here'] })

  test('the same dice make the same wrap, other dice another', async () => {
    const [one, again, other] = [await wrap(seedOf('ekm')), await wrap(seedOf('ekm')), await wrap(seedOf('other'))]
    expect(again).toEqual(one)
    expect(other.enc).not.toBe(one.enc)
    expect(other.ct).not.toBe(one.ct)
  })

  test('opens with the prekey that it was made for, where it was made for, and nowhere else', async () => {
    const { enc, ct } = await wrap(seedOf('ekm'))
    const open = (seed: Uint8Array, info: string, purpose: 'wrap' | 'roster-wrap' = 'wrap') =>
      unwrapKey({ enc, ct, seed, purpose, info: [info] })
    expect(await open(frank.prekeySeed, 'here')).toEqual({ ok: true, value: seedOf('key') })
    for (const wrong of [
      open(mallory.prekeySeed, 'here'),
      open(frank.prekeySeed, 'there'),
      open(frank.prekeySeed, 'here', 'roster-wrap'),
    ])
      expect(await wrong).toMatchObject({ ok: false, refusal: 'wrap_unopenable' })
  })

  test('junk is refused and does not throw', async () => {
    for (const enc of ['', '00'.repeat(32), 'ff'.repeat(32), '01'.repeat(33)])
      expect(
        await unwrapKey({ enc, ct: '00'.repeat(48), seed: frank.prekeySeed, purpose: 'wrap', info: [] }),
      ).toMatchObject({ ok: false })
  })

  test.each([
    ['0', '00'.repeat(32)],
    ['1', `01${'00'.repeat(31)}`],
    ['p - 1', `ec${'ff'.repeat(30)}7f`],
    ['p, which is 0', `ed${'ff'.repeat(30)}7f`],
    ['a point of order 8', 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'],
  ])('refuses an X25519 key of small order: %s', (_, key) => {
    expect(checkPrekey(key)).toMatchObject({ ok: false, refusal: 'weak_key' })
  })

  test('whatever passes as a prekey can be wrapped to', async () => {
    for (let i = 0; i < 20; i++) {
      const key = hash('payload', ['any', i])
      if (checkPrekey(key).ok)
        await wrapKey({ key: seedOf('key'), to: key, ekm: seedOf('ekm'), purpose: 'wrap', info: [] })
    }
  })
})

describe('padding', () => {
  const [key, aad] = [seedOf('key'), new Uint8Array(0)]

  test.each(PADDED_SIZES_BYTES.map((size, i) => [size, PADDED_SIZES_BYTES[i - 1] ?? 0]))(
    'content up to %i bytes less its length field is padded to that',
    (size, smaller) => {
      for (const length of [Math.max(0, smaller - 3), size - 4]) {
        const plain = new Uint8Array(length).fill(7)
        const sealed = sealPadded(key, plain, aad)
        expect([paddedSize(length), sealed.length]).toEqual([size, size + 16])
        expect(openPadded(key, sealed, aad)).toEqual({ ok: true, value: plain })
      }
    },
  )

  test('content that fits no size is our own mistake', () => {
    expect(paddedSize(256 * 1024 - 3)).toBeUndefined()
    expect(() => sealPadded(key, new Uint8Array(256 * 1024), aad)).toThrow(RangeError)
  })

  test('every changed byte breaks the seal', () => {
    const sealed = sealPadded(key, Uint8Array.of(1), aad)
    for (let at = 0; at < sealed.length; at++) {
      const changed = sealed.slice()
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(openPadded(key, changed, aad)).toMatchObject({ refusal: 'seal_broken' })
    }
    expect(openPadded(key, new Uint8Array(3), aad)).toMatchObject({ refusal: 'seal_broken' })
  })
})
