import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  checkOwner,
  encodeCode,
  findPhrase,
  fromHex,
  inviteKey,
  ownerProofKey,
  parseCode,
  phraseWords,
  proveOwner,
  rendezvousTag,
  toHex,
} from '../../protocol/index.ts'
import { bob, carol, mallory, seedOf } from '../cast.ts'

const secret = seedOf('secret').subarray(0, 16)
const code = encodeCode({ secret })
const inviter = {
  expires: 1_700_000_000_000,
  device: bob.device,
  addresses: ['/ip4/192.168.1.20/tcp/4001', '/ip6/fe80::1/tcp/4001'],
}

describe('an invite code', () => {
  test('is short, and carries the secret', () => {
    expect(code).toMatch(/^relay1[02-9ac-hj-np-z]{32}$/)
    expect(parseCode(code)).toEqual({ ok: true, value: { secret: new Uint8Array(secret) } })
  })

  test('may be typed in capitals and with spaces around it', () => {
    expect(parseCode(`  ${code.toUpperCase()}\n`)).toMatchObject({ ok: true })
  })

  test('may be said in twelve words', () => {
    const words = phraseWords(secret)
    expect(words).toHaveLength(12)
    expect(parseCode(` ${words.join('  ').toUpperCase()} `)).toEqual({
      ok: true,
      value: { secret: new Uint8Array(secret) },
    })
    expect(parseCode(words.slice(1).join(' '))).toMatchObject({ refusal: 'code' })
    expect(parseCode(words.toReversed().join(' '))).toMatchObject({ refusal: 'code' })
  })

  test('is found where it stands among other words, said in twelve or twenty-four, in whatever list', () => {
    const twelve = phraseWords(secret)
    const listed = twelve.map((word, i) => `${i + 1}) ${word.toUpperCase()}`).join('\n')
    expect(findPhrase(twelve.join(' '))).toBe(0)
    expect(findPhrase(`Keep it:\n${listed}\nGood luck.`)).toBe('Keep it:\n1) '.length)
    expect(findPhrase(twelve.join(' und '))).toBeUndefined()
    // Twelve of the twenty-four may be right by themselves.
    expect(findPhrase(phraseWords(seedOf('a longer one')).join(' '))).toBeDefined()
    expect(findPhrase('abandon '.repeat(30))).toBeUndefined()
    expect(findPhrase('')).toBeUndefined()
  })

  test('of a standalone invite carries where the inviter is', () => {
    const parsed = parseCode(encodeCode({ secret, inviter }))
    expect(parsed).toEqual({ ok: true, value: { secret: new Uint8Array(secret), inviter } })
  })

  test('of an inviter with many or long addresses carries as many as fit', () => {
    const long = (i: number) => `/dns4/${'x'.repeat(240)}${i}/tcp/1`
    for (const addresses of [[1, 2, 3, 4, 5].map(String), [1, 2, 3, 4].map(long)]) {
      const parsed = parseCode(
        encodeCode({ secret, inviter: { device: bob.device, addresses, expires: 1_700_000_000_000 } }),
      )
      expect(parsed).toMatchObject({ ok: true })
      const kept = parsed.ok ? (parsed.value.inviter?.addresses ?? []) : []
      expect(kept.length).toBeGreaterThan(0)
      expect(addresses.slice(0, kept.length)).toEqual(kept)
    }
  })

  test('with any one wrong character is refused', () => {
    for (let at = 0; at < code.length; at++)
      for (const other of ['q', 'p', 'z', '1', 'b', 'ß']) {
        const wrong = code.slice(0, at) + other + code.slice(at + 1)
        if (wrong !== code) expect(parseCode(wrong)).toMatchObject({ ok: false, refusal: 'code' })
      }
  })

  propertyTest.prop([fc.string()])('never throws on what people type', (typed) => {
    expect(parseCode(typed)).toMatchObject({ ok: false, refusal: 'code' })
  })
})

describe('the secret', () => {
  test('makes one key, one proof key and one tag, and none tells the others', () => {
    expect(inviteKey(secret).public).toBe(inviteKey(secret.slice()).public)
    expect(rendezvousTag(secret)).toMatch(/^[0-9a-f]{20}$/)
    const made = [inviteKey(secret).public, toHex(ownerProofKey(secret)), rendezvousTag(secret)]
    expect(new Set(made.map((text) => text.slice(0, 20))).size).toBe(3)
  })

  test('proves the owner to this joiner, in this exchange, for this workspace', () => {
    const key = ownerProofKey(secret)
    const stated = {
      ws: 'aa'.repeat(32),
      invite: 'bb'.repeat(32),
      owner: bob.device,
      device: carol.device,
      nonce: 'cc'.repeat(32),
    }
    const proof = proveOwner(key, stated)
    expect(checkOwner(key, stated, proof)).toBe(true)
    for (const field of ['ws', 'invite', 'owner', 'device', 'nonce'] as const)
      expect(checkOwner(key, { ...stated, [field]: mallory.device }, proof)).toBe(false)
    expect(checkOwner(fromHex('00'.repeat(32)), stated, proof)).toBe(false)
    expect(checkOwner(key, stated, '')).toBe(false)
  })
})
