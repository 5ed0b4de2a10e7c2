/** Refusals of what is sealed, and of messages between peers. */
import { createCipheriv } from 'node:crypto'
import {
  commitThreadKey,
  commitWorkspaceKey,
  decodeCanonical,
  derive,
  encodeCanonical,
  encodeCode,
  encodeGossip,
  encodeJoin,
  encodeSync,
  FRAME_SIZE_BYTES_MAX,
  prekeyPublic,
  sealEnvelope,
  sealOlderKey,
  signPrekey,
  type Value,
  type WrapPlace,
  type Wrapped,
  wrapThreadKey,
  wrapWorkspaceKey,
} from '../../../protocol/index.ts'
import { tagged } from '../../../protocol/crypto.ts'
import { bob, CLOCK_MS, frank, mallory, seedOf } from '../../cast.ts'
import { parsed, shown } from '../vector-exhibits.ts'
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

/** What a device of the thread opens: a wrap of its key, as the create or wrap that holds it has it. */
function threadKey(wrap: Wrapped, stated: { place?: WrapPlace; committed?: Uint8Array; seed?: Uint8Array } = {}) {
  const { place: at = place, committed = KEY, seed = frank.prekeySeed } = stated
  const commit = commitThreadKey(committed, { nonce: at.nonce, ws: at.ws, device: at.author, prev: null })
  return shown('open_thread_key', { wrap, ...at, prev: null, commit }, { prekey_seed: seed })
}

function fieldsOf(bytes: Uint8Array): readonly Value[] {
  const value = decodeCanonical(bytes, { bytesMax: 1024 })
  return value.ok && Array.isArray(value.value) ? (value.value as readonly Value[]) : []
}

function envelopeCase(envelope: Uint8Array, key = KEY) {
  return shown('open_envelope', { envelope }, { key })
}

/** A message of one long body: of 320 KiB exactly, or of one byte more. */
function longFrame(wrong: boolean): Uint8Array {
  const frame = (length: number) => encodeSync({ t: 'bodies', th: WS, items: [[WS, new Uint8Array(length)]] })
  const rest = frame(FRAME_SIZE_BYTES_MAX - 1024).length - (FRAME_SIZE_BYTES_MAX - 1024)
  return frame(FRAME_SIZE_BYTES_MAX - rest + (wrong ? 1 : 0))
}

export const SEALED_CASES: readonly RefusalCase[] = [
  refusalCase('seal_broken', 'an envelope under another key', (wrong) =>
    envelopeCase(
      sealEnvelope(Uint8Array.of(1), { key: KEY, epoch: 0, salt: seedOf('salt') }),
      wrong ? seedOf('other') : KEY,
    ),
  ),
  refusalCase('seal_broken', 'an older key under another id', (wrong) =>
    shown(
      'open_older_key',
      { sealed: sealOlderKey(KEY, seedOf('older'), PREKEY), id: wrong ? WS : PREKEY },
      { key: KEY },
    ),
  ),
  refusalCase('padding', 'a byte other than zero in the padding', (wrong) =>
    envelopeCase(envelopeOf(padded(256, 1, wrong ? 1 : 0))),
  ),
  refusalCase('padding', 'a size that is none of the padded ones', (wrong) =>
    envelopeCase(envelopeOf(padded(wrong ? 300 : 256, 1))),
  ),
  refusalCase('padding', 'a larger size than the content needs', (wrong) =>
    envelopeCase(envelopeOf(padded(1024, wrong ? 252 : 253))),
  ),
  refusalCase('padding', 'a length beyond the end', (wrong) =>
    envelopeCase(envelopeOf(padded(256, wrong ? 0xff_ff_ff_ff : 252))),
  ),
  refusalCase('padding', 'no room for a length', (wrong) => envelopeCase(envelopeOf(padded(wrong ? 3 : 256, 0)))),
  refusalCase('schema', 'an envelope of two parts', (wrong) => {
    const parts = [0, seedOf('salt'), new Uint8Array(272)]
    return shown('read_epoch', { envelope: encodeCanonical(wrong ? parts.slice(0, 2) : parts) })
  }),
  refusalCase('wrap_unopenable', 'a wrap for another prekey', async (wrong) =>
    threadKey(await wrapThreadKey(KEY, place, await recipient()), wrong ? { seed: mallory.prekeySeed } : {}),
  ),
  refusalCase('wrap_unopenable', 'a wrap copied into another thread', async (wrong) =>
    threadKey(await wrapThreadKey(KEY, place, await recipient()), wrong ? { place: { ...place, nonce: WS } } : {}),
  ),
  refusalCase('wrap_unopenable', 'a wrap passed off as another author’s', async (wrong) =>
    threadKey(
      await wrapThreadKey(KEY, place, await recipient()),
      wrong ? { place: { ...place, author: mallory.device } } : {},
    ),
  ),
  refusalCase('key_commitment', 'a thread key other than the committed one: a second opening', async (wrong) =>
    threadKey(await wrapThreadKey(wrong ? seedOf('other') : KEY, place, await recipient())),
  ),
  refusalCase('key_commitment', 'a workspace key other than the committed one', async (wrong) => {
    const wrap = await wrapWorkspaceKey(wrong ? seedOf('other') : KEY, rosterPlace, await recipient())
    const commit = commitWorkspaceKey(KEY, rosterPlace)
    return shown('open_workspace_key', { wrap, ...rosterPlace, commit }, { prekey_seed: frank.prekeySeed })
  }),
  refusalCase('bad_signature', 'a prekey signed by another device', async (wrong) => {
    const key = wrong ? mallory.key : frank.key
    const record = signPrekey({ ...prekey, x25519: await prekeyPublic(frank.prekeySeed) }, key).bytes
    return shown('open_prekey', { record })
  }),
  refusalCase('weak_key', 'a prekey of small order', async (wrong) => {
    const x25519 = wrong ? X25519_ORDER_8 : await prekeyPublic(frank.prekeySeed)
    return shown('open_prekey', { record: signPrekey({ ...prekey, x25519 }, frank.key).bytes })
  }),
  refusalCase('schema', 'a prekey record with a field too many', async (wrong) => {
    const { bytes } = signPrekey({ ...prekey, x25519: await prekeyPublic(frank.prekeySeed) }, frank.key)
    return shown('open_prekey', { record: wrong ? encodeCanonical([...fieldsOf(bytes), 0]) : bytes })
  }),
  refusalCase('message', 'a sync message of no known type', (wrong) =>
    parsed('sync', encodeCanonical({ t: wrong ? 'bye' : 'got' })),
  ),
  refusalCase('message', 'a sync message with a key too many', (wrong) =>
    parsed('sync', wrong ? encodeCanonical({ t: 'got', x: 1 }) : encodeSync({ t: 'got' })),
  ),
  refusalCase('message', 'a gossip message of no known type', (wrong) =>
    parsed(
      'gossip',
      wrong
        ? encodeCanonical({ t: 'valueOf', th: seedOf('thread'), heads: [] })
        : encodeGossip({ t: 'hint', th: WS, heads: [] }),
    ),
  ),
  refusalCase('message', 'a join message of no known type', (wrong) =>
    parsed(
      'join',
      wrong ? encodeCanonical({ t: 'toString', reason: 'busy' }) : encodeJoin({ t: 'refused', reason: 'busy' }),
    ),
  ),
  refusalCase('message', 'a join refused for a reason that is none', (wrong) =>
    parsed('join', encodeCanonical({ t: 'refused', reason: wrong ? 'because' : 'busy' })),
  ),
  refusalCase('oversize', 'a frame of more than 320 KiB', (wrong) => parsed('sync', longFrame(wrong))),
  refusalCase('code', 'an invite code with one wrong character', (wrong) => {
    const code = encodeCode({ secret: seedOf('secret').subarray(0, 16) })
    const at = 12
    const other = code[at] === 'q' ? 'p' : 'q'
    return shown('parse_code', { text: wrong ? code.slice(0, at) + other + code.slice(at + 1) : code })
  }),
]
