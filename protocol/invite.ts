/**
 * Invites: a 128-bit secret that people hand over by a channel they trust, written as a short code
 * (bech32m, BIP 350), as twelve words (BIP 39), or, standalone, together with where the inviter is.
 */
import { bech32m } from '@scure/base'
import { entropyToMnemonic, mnemonicToEntropy, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { decodeCanonical, encodeCanonical, fromHex, type Hex, toHex } from './canonical.ts'
import { derive, mac, sameSecret, signingKey, type SigningKey } from './crypto.ts'
import { ADDRESS_SIZE_BYTES_MAX } from './limits.ts'
import { type Checked, pass, refuse } from './refusal.ts'

export const SECRET_BYTES = 16
const PREFIX = 'relay'
/** bech32m was made for 90 characters; a standalone code is longer and keeps its checksum. */
const CODE_LENGTH_CHARS_MAX = 1023
const CHECKSUM_LENGTH_CHARS = 6
const STANDALONE_ADDRESSES_COUNT_MAX = 4
const NO_SALT = new Uint8Array(0)

export interface InviteCode {
  /** 16 bytes. */
  readonly secret: Uint8Array
  /** Where the inviter is, and when the invite ends by its clock (ms); only in a standalone code. */
  readonly inviter?: { readonly device: Hex; readonly addresses: readonly string[]; readonly expires: number }
}

/** The code of an invite: the first of the inviter's addresses, as many as fit. */
export function encodeCode(code: InviteCode): string {
  const { secret, inviter } = code
  if (!inviter) return bech32m.encode(PREFIX, bech32m.toWords(secret), CODE_LENGTH_CHARS_MAX)
  const addresses = inviter.addresses.slice(0, STANDALONE_ADDRESSES_COUNT_MAX)
  const encode = () => bech32m.toWords(encodeCanonical([secret, fromHex(inviter.device), addresses, inviter.expires]))
  // Long addresses must not keep a code from being made: one that works is enough to join.
  let words = encode()
  while (PREFIX.length + 1 + words.length + CHECKSUM_LENGTH_CHARS > CODE_LENGTH_CHARS_MAX) {
    addresses.pop()
    words = encode()
  }
  return bech32m.encode(PREFIX, words, CODE_LENGTH_CHARS_MAX)
}

/** A secret as words (BIP 39): 16 bytes make twelve, 32 bytes twenty-four. */
export function phraseWords(secret: Uint8Array): string[] {
  return entropyToMnemonic(secret, wordlist).split(' ')
}

const WORDS: ReadonlySet<string> = new Set(wordlist)
const PHRASE_DISTINCT_SHARE_MIN = 0.75

/**
 * Where in `text` the first twelve or twenty-four words begin that {@link phraseWords} could have made, by their
 * checksum; whatever is no letter may stand between them. undefined where there are none.
 */
export function findPhrase(text: string): number | undefined {
  const run: { word: string; at: number }[] = []
  for (const { 0: word, index: at } of text.toLowerCase().matchAll(/[a-z]+/g)) {
    if (!WORDS.has(word)) {
      run.length = 0
      continue
    }
    run.push({ word, at })
    if (run.length > 24) run.shift()
    for (const count of [24, 12]) {
      const last = run.slice(-count).map((one) => one.word)
      // Chance repeats a word or two of so many; text that says one thing again and again is no secret.
      if (last.length < count || new Set(last).size < count * PHRASE_DISTINCT_SHARE_MIN) continue
      if (validateMnemonic(last.join(' '), wordlist)) return run.at(-count)?.at
    }
  }
  return undefined
}

/** Parses a code or twelve words as a person typed them: case and spaces do not matter. */
export function parseCode(text: string): Checked<InviteCode> {
  const typed = text.normalize('NFKC').trim().toLowerCase()
  if (/\s/.test(typed)) return parseWords(typed.split(/\s+/).join(' '))
  try {
    const { prefix, bytes } = bech32m.decodeToBytes(typed, CODE_LENGTH_CHARS_MAX)
    if (prefix !== PREFIX) return refuse('code', `begins with ${PREFIX}1`)
    return bytes.length === SECRET_BYTES ? pass({ secret: bytes }) : parseStandalone(bytes)
  } catch {
    return refuse('code', 'a character is wrong or missing')
  }
}

function parseWords(typed: string): Checked<InviteCode> {
  if (typed.split(' ').length !== 12) return refuse('code', 'an invite has twelve words')
  if (!validateMnemonic(typed, wordlist)) return refuse('code', 'a word is wrong')
  return pass({ secret: mnemonicToEntropy(typed, wordlist) })
}

function parseStandalone(bytes: Uint8Array): Checked<InviteCode> {
  const decoded = decodeCanonical(bytes, { bytesMax: CODE_LENGTH_CHARS_MAX })
  if (!decoded.ok || !Array.isArray(decoded.value)) return refuse('code', 'not an invite code')
  const [secret, device, addresses, expires, ...rest] = decoded.value as readonly unknown[]
  if (!(secret instanceof Uint8Array) || secret.length !== SECRET_BYTES || rest.length > 0)
    return refuse('code', 'not an invite code')
  if (
    !(device instanceof Uint8Array) ||
    device.length !== 32 ||
    !Array.isArray(addresses) ||
    typeof expires !== 'number'
  )
    return refuse('code', 'not an invite code')
  const texts = (addresses as readonly unknown[]).filter((address) => typeof address === 'string')
  if (texts.length !== addresses.length || texts.length > STANDALONE_ADDRESSES_COUNT_MAX)
    return refuse('code', 'not an invite code')
  if (texts.some((address) => new TextEncoder().encode(address).length > ADDRESS_SIZE_BYTES_MAX))
    return refuse('code', 'not an invite code')
  return pass({ secret, inviter: { device: toHex(device), addresses: texts, expires } })
}

/** The key that the joiner signs with; the owner keeps only its public half. */
export function inviteKey(secret: Uint8Array): SigningKey {
  return signingKey(derive(secret, NO_SALT, 'invite-seed', []))
}

/** The key by which the owner proves that it made the invite. Kept by the owner; it cannot sign for the joiner. */
export function ownerProofKey(secret: Uint8Array): Uint8Array {
  return derive(secret, NO_SALT, 'invite-owner', [])
}

/** Name under which the inviter is found; says nothing of the secret. */
export function rendezvousTag(secret: Uint8Array): string {
  return toHex(derive(secret, NO_SALT, 'invite-tag', [])).slice(0, 20)
}

/** What the owner proves to the joiner: this workspace, for this joiner, in this exchange. */
export interface OwnerStatement {
  readonly ws: Hex
  readonly invite: Hex
  readonly owner: Hex
  readonly device: Hex
  readonly nonce: Hex
}

export function proveOwner(key: Uint8Array, stated: OwnerStatement): Hex {
  return mac(key, 'join-owner', [stated.ws, stated.invite, stated.owner, stated.device, stated.nonce].map(fromHex))
}

export function checkOwner(key: Uint8Array, stated: OwnerStatement, proof: Hex): boolean {
  return sameSecret(proveOwner(key, stated), proof)
}
