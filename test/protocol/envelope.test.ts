import { describe, expect, test } from 'vitest'
import {
  commitWorkspaceKey,
  encodeCanonical,
  epochOf,
  openEnvelope,
  prekeyPublic,
  sealEnvelope,
  topicOf,
  unwrapWorkspaceKey,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import { acme, begin, dice, frank, mallory, seedOf } from '../cast.ts'

const KEY = seedOf('workspace key')

describe('an envelope', () => {
  const { create } = begin({ workspace: acme() })
  const envelope = sealEnvelope(create.envelope, { key: KEY, epoch: 3, salt: seedOf('salt') })

  test('shows its epoch to everybody and its content to whoever holds the key', () => {
    expect(epochOf(envelope)).toEqual({ ok: true, value: 3 })
    expect(openEnvelope(envelope, KEY)).toEqual({ ok: true, value: create.envelope })
    expect(openEnvelope(envelope, seedOf('other'))).toMatchObject({ refusal: 'seal_broken' })
  })

  test('does not open under another epoch or salt', () => {
    // The create fits the second padded size; epoch and salt stand before it.
    const sealed = envelope.slice(-(1024 + 16))
    expect(openEnvelope(encodeCanonical([3, seedOf('salt'), sealed]), KEY)).toMatchObject({ ok: true })
    expect(openEnvelope(encodeCanonical([4, seedOf('salt'), sealed]), KEY)).toMatchObject({ refusal: 'seal_broken' })
    expect(openEnvelope(encodeCanonical([3, seedOf('pepper'), sealed]), KEY)).toMatchObject({ refusal: 'seal_broken' })
  })

  test('of any content of one padded size has one size', () => {
    const sizes = [0, 1, 100, 252].map(
      (length) => sealEnvelope(new Uint8Array(length), { key: KEY, epoch: 0, salt: seedOf('salt') }).length,
    )
    expect(new Set(sizes).size).toBe(1)
  })
})

describe('a workspace key', () => {
  const place = { nonce: 'ab'.repeat(32), epoch: 0 }

  test('is wrapped to a laptop and checked against its commitment', async () => {
    const to = {
      device: frank.device,
      prekey: 'cd'.repeat(32),
      x25519: await prekeyPublic(frank.prekeySeed),
      ekm: dice('ekm')(32),
    }
    const wrap = await wrapWorkspaceKey(KEY, place, to)
    const commit = commitWorkspaceKey(KEY, place)
    expect(await unwrapWorkspaceKey(wrap, place, { seed: frank.prekeySeed, commit })).toEqual({ ok: true, value: KEY })
    expect(await unwrapWorkspaceKey(wrap, { ...place, epoch: 1 }, { seed: frank.prekeySeed, commit })).toMatchObject({
      refusal: 'wrap_unopenable',
    })
    expect(await unwrapWorkspaceKey(wrap, place, { seed: mallory.prekeySeed, commit })).toMatchObject({
      refusal: 'wrap_unopenable',
    })
    expect(await unwrapWorkspaceKey(wrap, place, { seed: frank.prekeySeed, commit: '00'.repeat(32) })).toMatchObject({
      refusal: 'key_commitment',
    })
  })

  test('names the topic of an epoch, which says nothing of it', () => {
    expect(topicOf(KEY, 0)).toMatch(/^relay-node\/[0-9a-f]{32}$/)
    expect(new Set([topicOf(KEY, 0), topicOf(KEY, 1), topicOf(seedOf('other'), 0)]).size).toBe(3)
  })
})
