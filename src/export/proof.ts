/**
 * The proof of a handoff: what was signed, as it was received, and what opens its contents and nothing else. Two files,
 * each the canonical encoding of one value:
 *
 *     proof/roster.cbor   [roster envelope, …]                                   from genesis on
 *     proof/thread.cbor   [1, action key / null, [[envelope, sealed body / null, body key / null], …]]
 */
import { decodeCanonical, encodeCanonical, type Value } from '../../protocol/index.ts'

export interface ProofEntry {
  /** As received. */
  readonly envelope: Uint8Array
  /** null where it has none, or it was not there to be exported. */
  readonly sealed: Uint8Array | null
  /** The key of this one body; null where it is not known. */
  readonly key: Uint8Array | null
}

export interface Proof {
  readonly roster: readonly Uint8Array[]
  /** Parents before children. */
  readonly entries: readonly ProofEntry[]
  /** The key of create's ctl.action; null where no action was proposed, or it is not known. */
  readonly actionKey: Uint8Array | null
}

export const ROSTER_PATH = 'proof/roster.cbor'
export const THREAD_PATH = 'proof/thread.cbor'
/** Of the encoding; a reader refuses any other. */
const PROOF_VERSION = 1
const KEY_BYTES = 32

export function encodeRoster({ roster }: Proof): Uint8Array {
  return encodeCanonical([...roster])
}

export function encodeThread({ actionKey, entries }: Proof): Uint8Array {
  return encodeCanonical([
    PROOF_VERSION,
    actionKey,
    entries.map(({ envelope, sealed, key }) => [envelope, sealed, key]),
  ])
}

/** The list of envelopes, or undefined where the bytes are not of that form. */
export function parseRoster(bytes: Uint8Array): Uint8Array[] | undefined {
  const value = decode(bytes)
  if (!Array.isArray(value)) return undefined
  const envelopes = (value as readonly Value[]).filter((item) => item instanceof Uint8Array)
  return envelopes.length === value.length ? envelopes : undefined
}

export function parseThread(bytes: Uint8Array): Omit<Proof, 'roster'> | undefined {
  const value = decode(bytes)
  if (!Array.isArray(value)) return undefined
  const [version, actionKey, list, ...rest] = value as readonly Value[]
  if (version !== PROOF_VERSION || rest.length > 0 || !isKey(actionKey) || !Array.isArray(list)) return undefined
  const entries = (list as readonly Value[]).map(parseEntryOf)
  const whole = entries.filter((entry) => entry !== undefined)
  return whole.length === entries.length ? { actionKey, entries: whole } : undefined
}

function parseEntryOf(value: Value): ProofEntry | undefined {
  if (!Array.isArray(value) || value.length !== 3) return undefined
  const [envelope, sealed, key] = value as readonly Value[]
  const isBody = sealed === null || sealed instanceof Uint8Array
  return envelope instanceof Uint8Array && isBody && isKey(key) ? { envelope, sealed, key } : undefined
}

function isKey(value: Value | undefined): value is Uint8Array | null {
  return value === null || (value instanceof Uint8Array && value.length === KEY_BYTES)
}

function decode(bytes: Uint8Array): Value | undefined {
  const decoded = decodeCanonical(bytes, { bytesMax: Number.MAX_SAFE_INTEGER })
  return decoded.ok ? decoded.value : undefined
}
