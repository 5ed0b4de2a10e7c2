/** Refusals of what is sealed, and of messages between peers. */
import { createCipheriv } from 'node:crypto'
import {
  commitWorkspaceKey,
  derive,
  encodeCanonical,
  encodeCode,
  encodeGossip,
  encodeJoin,
  encodeSync,
  epochOf,
  openEnvelope,
  openOlderKey,
  openPrekey,
  parseCode,
  parseGossip,
  parseJoin,
  parseSync,
  prekeyPublic,
  sealEnvelope,
  sealOlderKey,
  signPrekey,
  unwrapThreadKey,
  unwrapWorkspaceKey,
  wrapThreadKey,
  wrapWorkspaceKey,
} from '../../../protocol/index.ts'
import { tagged } from '../../../protocol/crypto.ts'
import { bob, CLOCK_MS, frank, mallory, seedOf } from '../../cast.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

const KEY = seedOf('key')
const WS = bob.device
const PREKEY = '99'.repeat(32)
const place = { ws: WS, nonce: 'ab'.repeat(32), author: bob.device }
const rosterPlace = { nonce: 'cd'.repeat(32), epoch: 0 }

async function recipient() {
  return { device: frank.device, prekey: PREKEY, x25519: await prekeyPublic(frank.prekeySeed), ekm: seedOf('ekm') }
}

/** An envelope whose padded plain text is exactly `padded`: what a liar who holds the key can make. */
function envelopeOf(padded: Uint8Array): Uint8Array {
  const salt = seedOf('salt')
  const cipher = createCipheriv('chacha20-poly1305', derive(KEY, salt, 'envelope', [0]), new Uint8Array(12), {
    authTagLength: 16,
  })
  cipher.setAAD(tagged('envelope', [0, salt]), { plaintextLength: padded.length })
  const sealed = Buffer.concat([cipher.update(padded), cipher.final(), cipher.getAuthTag()])
  return encodeCanonical([0, salt, new Uint8Array(sealed)])
}

function padded(size: number, length: number, last = 0): Uint8Array {
  const bytes = new Uint8Array(size)
  if (size >= 4) new DataView(bytes.buffer).setUint32(0, length)
  if (last !== 0) bytes[size - 1] = last
  return bytes
}

const prekey = { ws: WS, device: frank.device, counter: 1, mailbox: frank.device, created: CLOCK_MS }
const X25519_ORDER_8 = 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'

export const SEALED_CASES: readonly RefusalCase[] = [
  refusalCase('seal_broken', 'an envelope under another key', (wrong) =>
    openEnvelope(
      sealEnvelope(Uint8Array.of(1), { key: KEY, epoch: 0, salt: seedOf('salt') }),
      wrong ? seedOf('other') : KEY,
    ),
  ),
  refusalCase('seal_broken', 'an older key under another id', (wrong) => {
    const sealed = sealOlderKey(KEY, seedOf('older'), PREKEY)
    return openOlderKey(KEY, sealed, wrong ? WS : PREKEY)
  }),
  refusalCase('padding', 'a byte other than zero in the padding', (wrong) =>
    openEnvelope(envelopeOf(padded(256, 1, wrong ? 1 : 0)), KEY),
  ),
  refusalCase('padding', 'a size that is none of the padded ones', (wrong) =>
    openEnvelope(envelopeOf(padded(wrong ? 300 : 256, 1)), KEY),
  ),
  refusalCase('padding', 'a larger size than the content needs', (wrong) =>
    openEnvelope(envelopeOf(padded(1024, wrong ? 252 : 253)), KEY),
  ),
  refusalCase('padding', 'a length beyond the end', (wrong) =>
    openEnvelope(envelopeOf(padded(256, wrong ? 0xff_ff_ff_ff : 252)), KEY),
  ),
  refusalCase('padding', 'no room for a length', (wrong) => openEnvelope(envelopeOf(padded(wrong ? 3 : 256, 0)), KEY)),
  refusalCase('schema', 'an envelope of two parts', (wrong) =>
    epochOf(encodeCanonical(wrong ? [0, seedOf('salt')] : [0, seedOf('salt'), new Uint8Array(272)])),
  ),
  refusalCase('wrap_unopenable', 'a wrap for another prekey', async (wrong) =>
    unwrapThreadKey(
      await wrapThreadKey(KEY, place, await recipient()),
      place,
      wrong ? mallory.prekeySeed : frank.prekeySeed,
    ),
  ),
  refusalCase('wrap_unopenable', 'a wrap copied into another thread', async (wrong) =>
    unwrapThreadKey(
      await wrapThreadKey(KEY, place, await recipient()),
      wrong ? { ...place, nonce: WS } : place,
      frank.prekeySeed,
    ),
  ),
  refusalCase('wrap_unopenable', 'a wrap passed off as another author’s', async (wrong) =>
    unwrapThreadKey(
      await wrapThreadKey(KEY, place, await recipient()),
      wrong ? { ...place, author: mallory.device } : place,
      frank.prekeySeed,
    ),
  ),
  refusalCase('key_commitment', 'a workspace key other than the committed one', async (wrong) => {
    const wrap = await wrapWorkspaceKey(wrong ? seedOf('other') : KEY, rosterPlace, await recipient())
    return unwrapWorkspaceKey(wrap, rosterPlace, {
      seed: frank.prekeySeed,
      commit: commitWorkspaceKey(KEY, rosterPlace),
    })
  }),
  refusalCase('bad_signature', 'a prekey signed by another device', async (wrong) =>
    openPrekey(
      signPrekey({ ...prekey, x25519: await prekeyPublic(frank.prekeySeed) }, wrong ? mallory.key : frank.key).bytes,
    ),
  ),
  refusalCase('weak_key', 'a prekey of small order', async (wrong) =>
    openPrekey(
      signPrekey({ ...prekey, x25519: wrong ? X25519_ORDER_8 : await prekeyPublic(frank.prekeySeed) }, frank.key).bytes,
    ),
  ),
  refusalCase('schema', 'a prekey record with a field too many', async (wrong) => {
    const { bytes } = signPrekey({ ...prekey, x25519: await prekeyPublic(frank.prekeySeed) }, frank.key)
    return openPrekey(wrong ? encodeCanonical([1]) : bytes)
  }),
  refusalCase('message', 'a sync message of no known type', (wrong) =>
    parseSync(wrong ? encodeCanonical({ t: 'bye' }) : encodeSync({ t: 'got' })),
  ),
  refusalCase('message', 'a sync message with a key too many', (wrong) =>
    parseSync(encodeCanonical(wrong ? { t: 'got', x: 1 } : { t: 'got' })),
  ),
  refusalCase('message', 'a gossip message of no known type', (wrong) =>
    parseGossip(wrong ? encodeCanonical({ t: 'valueOf' }) : encodeGossip({ t: 'hint', th: WS, heads: [] })),
  ),
  refusalCase('message', 'a join message of no known type', (wrong) =>
    parseJoin(wrong ? encodeCanonical({ t: 'toString' }) : encodeJoin({ t: 'refused', reason: 'busy' })),
  ),
  refusalCase('oversize', 'a frame of more than 320 KiB', (wrong) =>
    parseSync(wrong ? new Uint8Array(320 * 1024 + 1) : encodeSync({ t: 'got' })),
  ),
  refusalCase('code', 'an invite code with one wrong character', (wrong) => {
    const code = encodeCode({ secret: seedOf('secret').subarray(0, 16) })
    const at = 12
    const other = code[at] === 'q' ? 'p' : 'q'
    return parseCode(wrong ? code.slice(0, at) + other + code.slice(at + 1) : code)
  }),
]
