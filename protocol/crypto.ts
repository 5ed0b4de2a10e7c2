/**
 * Every primitive of the protocol, and the only file that names a cryptographic library.
 *
 * Every input to a hash, signature, key derivation or associated data is
 * `relay-node/1/<purpose>`, one zero byte, and the canonical encoding of one array: so bytes made
 * for one purpose mean nothing for another. No tag of libp2p begins like this.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  sign as nodeSign,
  timingSafeEqual,
  verify as nodeVerify,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core'
import { ed25519, x25519 } from '@noble/curves/ed25519.js'
import { encodeCanonical, fromHex, type Hex, toHex, type Value } from './canonical.ts'
import { AEAD_TAG_BYTES, PADDED_SIZES_BYTES } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

/** What bytes are made for. */
export type Purpose =
  | 'entry-id'
  | 'entry'
  | 'roster-id'
  | 'roster'
  | 'prekey'
  | 'prekey-id'
  | 'mailbox'
  | 'mailbox-write'
  | 'mailbox-id'
  | 'mailbox-item'
  | 'mailbox-put'
  | 'mailbox-open'
  | 'mail-salt'
  | 'join'
  | 'join-owner'
  | 'invite'
  | 'invite-seed'
  | 'invite-owner'
  | 'invite-tag'
  | 'rendezvous'
  | 'successor'
  | 'ciphertext'
  | 'artifact'
  | 'chunk'
  | 'chunk-id'
  | 'commit'
  | 'wrap'
  | 'roster-wrap'
  | 'older'
  | 'body'
  | 'aad'
  | 'action-key'
  | 'action'
  | 'envelope'
  | 'topic'
  | 'heads'
  | 'bucket'
  | 'digest'
  | 'prekeys'
  | 'payload'

const tags = new Map<Purpose, Uint8Array>()

/** `relay-node/1/<purpose>` and one zero byte, then the canonical encoding of `parts`. */
export function tagged(purpose: Purpose, parts: readonly Value[]): Uint8Array {
  let tag = tags.get(purpose)
  if (!tag) tags.set(purpose, (tag = new TextEncoder().encode(`relay-node/1/${purpose}\0`)))
  const rest = encodeCanonical(parts)
  const bytes = new Uint8Array(tag.length + rest.length)
  bytes.set(tag)
  bytes.set(rest, tag.length)
  return bytes
}

/** SHA-256 of the tagged parts, hex. */
export function hash(purpose: Purpose, parts: readonly Value[]): Hex {
  return createHash('sha256').update(tagged(purpose, parts)).digest('hex')
}

/** Plain SHA-256, hex: what people compare a file with. Whatever else is hashed has a tag. */
export function contentHash(content: Uint8Array): Hex {
  return createHash('sha256').update(content).digest('hex')
}

/** HMAC-SHA-256 of the tagged parts under `key`, hex. */
export function mac(key: Uint8Array, purpose: Purpose, parts: readonly Value[]): Hex {
  return createHmac('sha256', key).update(tagged(purpose, parts)).digest('hex')
}

/** HKDF-SHA-256 (RFC 5869) with the tagged parts as info; 32 bytes. */
export function derive(secret: Uint8Array, salt: Uint8Array, purpose: Purpose, parts: readonly Value[]): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, salt, tagged(purpose, parts), 32))
}

/** True if two hex texts are equal, in time that does not depend on where they differ. */
export function sameSecret(a: Hex, b: Hex): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

// Ed25519 (RFC 8032, without cofactor, S < L: as OpenSSL verifies).

const PKCS8_PREFIX = fromHex('302e020100300506032b657004220420')
const SPKI_PREFIX = fromHex('302a300506032b6570032100')

/** A signing key: the hex of its public half, and the private half. */
export interface SigningKey {
  readonly public: Hex
  readonly private: KeyObject
}

/** The Ed25519 key of a 32-byte seed. */
export function signingKey(seed: Uint8Array): SigningKey {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return { public: toHex(spki.subarray(SPKI_PREFIX.length)), private: key }
}

export function sign(key: SigningKey, purpose: Purpose, parts: readonly Value[]): Uint8Array {
  return new Uint8Array(nodeSign(null, tagged(purpose, parts), key.private))
}

/** Public keys are few and parsing one costs as much as a tenth of a verification; a bound keeps junk from filling memory. */
const PUBLIC_KEYS_COUNT_MAX = 1024
const publicKeys = new Map<Hex, KeyObject>()

function publicKey(key: Hex): KeyObject {
  let object = publicKeys.get(key)
  if (!object) {
    object = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, fromHex(key)]), format: 'der', type: 'spki' })
    if (publicKeys.size >= PUBLIC_KEYS_COUNT_MAX) publicKeys.clear()
    publicKeys.set(key, object)
  }
  return object
}

export function verify(key: Hex, signature: Uint8Array, purpose: Purpose, parts: readonly Value[]): boolean {
  if (signature.length !== 64) return false
  try {
    return nodeVerify(null, tagged(purpose, parts), publicKey(key), signature)
  } catch {
    return false
  }
}

/** Refuses Ed25519 keys that are not canonically encoded or not in the prime-order subgroup. Checked once, at enrolment. */
export function checkSigningKey(key: Hex): Checked<Hex> {
  try {
    const point = ed25519.Point.fromBytes(fromHex(key), false)
    return point.isTorsionFree() && !point.is0() ? pass(key) : refuse('weak_key')
  } catch {
    return refuse('weak_key')
  }
}

declare global {
  // @hpke/core names these types of the browsers' library, which Node's types have under another name.
  interface CryptoKey extends webcrypto.CryptoKey {}
  interface CryptoKeyPair extends webcrypto.CryptoKeyPair {}
}

// HPKE (RFC 9180): base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.

const kem = new DhkemX25519HkdfSha256()
const suite = new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Aes256Gcm() })

/** The X25519 public key (hex) that HPKE derives from a 32-byte seed. */
export async function prekeyPublic(seed: Uint8Array): Promise<Hex> {
  const pair = await kem.deriveKeyPair(seed.slice())
  return toHex(new Uint8Array(await kem.serializePublicKey(pair.publicKey)))
}

const ANY_SCALAR = new Uint8Array(32).fill(1)

/** Refuses X25519 keys of small order: whatever is wrapped to one is open to everybody, and HPKE throws on them (RFC 9180, 7.1.4). */
export function checkPrekey(key: Hex): Checked<Hex> {
  try {
    x25519.getSharedSecret(ANY_SCALAR, fromHex(key))
    return pass(key)
  } catch {
    return refuse('weak_key')
  }
}

/** Seals a 32-byte key to an X25519 public key. `ekm` is 32 fresh random bytes. */
export async function wrapKey(options: {
  key: Uint8Array
  to: Hex
  ekm: Uint8Array
  purpose: Purpose
  info: readonly Value[]
}): Promise<{ enc: Hex; ct: Hex }> {
  const recipientPublicKey = await kem.deserializePublicKey(fromHex(options.to).slice())
  const context = await suite.createSenderContext({
    recipientPublicKey,
    ekm: options.ekm,
    info: tagged(options.purpose, options.info).slice(),
  })
  const ct = await context.seal(options.key.slice())
  return { enc: toHex(new Uint8Array(context.enc)), ct: toHex(new Uint8Array(ct)) }
}

/** Opens what {@link wrapKey} sealed, with the seed of the prekey. */
export async function unwrapKey(options: {
  enc: Hex
  ct: Hex
  seed: Uint8Array
  purpose: Purpose
  info: readonly Value[]
}): Promise<Checked<Uint8Array>> {
  try {
    const pair = await kem.deriveKeyPair(options.seed.slice())
    const context = await suite.createRecipientContext({
      recipientKey: pair.privateKey,
      enc: fromHex(options.enc).slice(),
      info: tagged(options.purpose, options.info).slice(),
    })
    const key = new Uint8Array(await context.open(fromHex(options.ct).slice()))
    return key.length === 32 ? pass(key) : refuse('wrap_unopenable')
  } catch {
    return refuse('wrap_unopenable')
  }
}

// ChaCha20-Poly1305 with a key that seals once, so that the nonce is zero.

const ZERO_NONCE = new Uint8Array(12)

function sealBytes(key: Uint8Array, plain: Uint8Array, aad: Uint8Array): Uint8Array {
  const cipher = createCipheriv('chacha20-poly1305', key, ZERO_NONCE, { authTagLength: AEAD_TAG_BYTES })
  cipher.setAAD(aad, { plaintextLength: plain.length })
  return new Uint8Array(Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]))
}

function openBytes(key: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Uint8Array | undefined {
  if (sealed.length < AEAD_TAG_BYTES) return undefined
  try {
    const end = sealed.length - AEAD_TAG_BYTES
    const decipher = createDecipheriv('chacha20-poly1305', key, ZERO_NONCE, { authTagLength: AEAD_TAG_BYTES })
    decipher.setAAD(aad, { plaintextLength: end })
    decipher.setAuthTag(sealed.subarray(end))
    return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]))
  } catch {
    return undefined
  }
}

/** The size that `length` bytes are padded to, with the four bytes of their length; undefined beyond the largest. */
export function paddedSize(length: number): number | undefined {
  return PADDED_SIZES_BYTES.find((size) => size >= length + 4)
}

/** Pads `plain` (uint32 big-endian length, bytes, zeros) and seals it. Throws where it is larger than the largest padded size. */
export function sealPadded(key: Uint8Array, plain: Uint8Array, aad: Uint8Array): Uint8Array {
  const size = paddedSize(plain.length)
  if (size === undefined) throw new RangeError(`${plain.length} bytes do not fit the largest padded size`)
  const padded = new Uint8Array(size)
  new DataView(padded.buffer).setUint32(0, plain.length)
  padded.set(plain, 4)
  return sealBytes(key, padded, aad)
}

/** Opens and unpads what {@link sealPadded} made. */
export function openPadded(key: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Checked<Uint8Array> {
  const padded = openBytes(key, sealed, aad)
  if (!padded) return refuse('seal_broken')
  if (padded.length < 4) return refuse('padding')
  const length = new DataView(padded.buffer, padded.byteOffset).getUint32(0)
  if (paddedSize(length) !== padded.length) return refuse('padding')
  for (let i = 4 + length; i < padded.length; i++) if (padded[i] !== 0) return refuse('padding')
  return pass(padded.subarray(4, 4 + length))
}

/** Seals a 32-byte key under another key that is used for this alone. */
export function sealKey(key: Uint8Array, inner: Uint8Array, aad: Uint8Array): Uint8Array {
  return sealBytes(key, inner, aad)
}

export function openKey(key: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Checked<Uint8Array> {
  const inner = openBytes(key, sealed, aad)
  return inner?.length === 32 ? pass(inner) : refuse('seal_broken')
}
