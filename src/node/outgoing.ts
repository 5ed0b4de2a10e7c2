/**
 * What a call is about to say, looked at before it is signed, since nothing signed can be recalled: secrets, paths that
 * mean nothing on another laptop, and names of home folders.
 */
import type { Saying } from './api.ts'
import { ApiError } from './api-error.ts'
import { findSecrets, type NamedText, type SecretFinding } from './secrets.ts'

type SayingParams = Saying & { readonly message?: { readonly parts: readonly { readonly text: string }[] } | undefined }

export interface Outgoing {
  /** Looks for secrets, which may take long on large content; tells nobody. */
  ahead(): Promise<void>
  /**
   * What the human is told of what was said.
   *
   * @throws ApiError secret_detected; details.findings lists {field, line, rule}
   */
  check(): Promise<string[]>
}

/** Parameters that say nothing: they name what is there already, or how the call is made. */
const NOT_SAID = new Set(['metadata', 'allow_secrets', 'recipient', 'intent', 'outcome'])

/**
 * @param summary name of the message's text in this call
 * @throws ApiError invalid_params where a path is none from the root of the repository
 */
export function outgoing(params: SayingParams, summary = 'summary'): Outgoing {
  const { message, allow_secrets: isAllowed = false, ...rest } = params
  const texts = [
    ...(message?.parts ?? []).map(({ text }) => ({ field: summary, text })),
    ...Object.entries<unknown>({ ...rest }).flatMap(([name, value]) =>
      NOT_SAID.has(name) ? [] : textsIn(value, name),
    ),
  ]
  for (const text of texts) requirePath(text)
  let search: Promise<SecretFinding[]> | undefined
  const found = (): Promise<SecretFinding[]> => (search ??= findSecrets(texts))
  return {
    async ahead() {
      await found()
    },
    async check() {
      const secrets = await found()
      if (secrets.length > 0 && !isAllowed) throw secretDetected(secrets)
      return [...secrets.map((one) => `A secret was sent: ${secretText(one)}.`), ...homeWarnings(texts)]
    },
  }
}

/** Every text in a parameter, by the path that leads to it. Keys of a payload are words of the caller and name nothing. */
function textsIn(value: unknown, field: string): NamedText[] {
  if (value === undefined || value === null) return []
  if (field === 'payload') return [{ field, text: JSON.stringify(value, null, 1) }, ...stringsIn(value, field)]
  if (typeof value === 'string') return [{ field, text: field.endsWith('.base64') ? asciiOf(value) : value }]
  if (typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((item: unknown, i) => textsIn(item, `${field}[${i}]`))
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, `${field}.${key}`))
}

/** The strings of a payload as they are, without the escapes of JSON. */
function stringsIn(root: unknown, field: string): NamedText[] {
  const found: NamedText[] = []
  const waiting = [root]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') found.push({ field, text: next })
    else if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) waiting.push(item)
  }
  return found
}

/** Shorter runs of what can be read are chance; no secret is as short. */
const RUN_LENGTH_CHARS_MIN = 8
/** Of bytes; with more zeros than this a text of two bytes a character may be in it. */
const ZEROS_SHARE_MIN = 0.2

/** What can be read in bytes: runs of ASCII, also where each character has two bytes. */
function asciiOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  let zeros = 0
  for (const byte of bytes) if (byte === 0) zeros++
  const isWide = zeros > bytes.length * ZEROS_SHARE_MIN
  return [...runsIn(bytes), ...(isWide ? runsIn(withoutZeros(bytes, zeros)) : [])].join(' ')
}

function withoutZeros(bytes: Buffer, zeros: number): Buffer {
  const kept = Buffer.alloc(bytes.length - zeros)
  let at = 0
  for (const byte of bytes) if (byte !== 0) kept[at++] = byte
  return kept
}

/** Printable, or tab, newline and what else parts words. */
const READABLE = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number((byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d)),
)

function runsIn(bytes: Buffer): string[] {
  const runs: string[] = []
  let start = 0
  for (let at = 0; at <= bytes.length; at++) {
    if (at < bytes.length && READABLE[bytes[at] ?? 0] === 1) continue
    if (at - start >= RUN_LENGTH_CHARS_MIN) runs.push(bytes.toString('latin1', start, at))
    start = at + 1
  }
  return runs
}

function secretText({ field, line, rule }: SecretFinding): string {
  return `${field}, line ${line} (rule ${rule})`
}

function secretDetected(findings: SecretFinding[]): ApiError {
  return new ApiError('secret_detected', `This looks like a secret: ${findings.map(secretText).join('; ')}.`, {
    hint: 'Nothing was signed. Take it out, and say where the other side finds its own. If it is none, a human may send it from a terminal with --allow-secrets.',
    details: { findings },
  })
}

const PATH_FIELD = /^(?:artifacts\[\d+\]\.(?:path|name|cwd)|proposed_action\.target_files\[\d+\])$/
const ADDRESS_FIELD = /^(?:artifacts\[\d+\]\.(?:url|schema_url)|record\.evidence\[\d+\]\.uri)$/
const ROOTED = /^(?:[/\\~]|[A-Za-z]:(?:[/\\]|$)|%[A-Za-z]+%|\$\{?[A-Za-z_]+\}?[/\\])/
const UPWARDS = /(?:^|[/\\])\.\.(?:[/\\]|$)/

/** Paths lead from the root of the repository, which both sides have; an address leads to something that both reach. */
function requirePath({ field, text }: NamedText): void {
  const typed = text.trim()
  if (PATH_FIELD.test(field)) {
    if (ROOTED.test(typed)) throw noPath(field, 'is a path of this laptop alone')
    if (UPWARDS.test(typed)) throw noPath(field, 'leads out of the repository with ..')
    if (/\p{Cc}/u.test(text)) throw noPath(field, 'holds a control character')
  } else if (ADDRESS_FIELD.test(field) && (/^file:/i.test(typed) || ROOTED.test(typed))) {
    throw new ApiError('invalid_params', `${field} names a file of this laptop, which nobody else can open.`, {
      hint: field.startsWith('record.')
        ? 'Attach the file as an artifact and name that in evidence.artifact, or give an address that the other side can open.'
        : 'Attach it as an artifact of type file or file_ref, or give an address that the other side can open.',
      details: { field },
    })
  }
}

function noPath(field: string, why: string): ApiError {
  return new ApiError('invalid_params', `${field} ${why}.`, {
    hint: 'Write the path from the root of the repository, with / between its parts, such as src/api/users.ts.',
    details: { field },
  })
}

/** Folders that no person's name stands in. */
const NOBODY = '(?!(?:Shared|Public|Default|runner|user|username|you|me|name|example)(?![A-Za-z0-9._-]))'
const HOMES = [
  new RegExp(String.raw`(?<![A-Za-z0-9._-])/(?:home|Users)/${NOBODY}[A-Za-z0-9._-]+`),
  new RegExp(String.raw`(?<![A-Za-z0-9])[A-Za-z]:[\\/]+Users[\\/]+${NOBODY}[A-Za-z0-9._-]+`, 'i'),
  /(?<![A-Za-z0-9/\\.~])~[a-z_][a-z0-9_-]*\//,
]
const HOMES_TOLD_COUNT_MAX = 4

function homeWarnings(texts: readonly NamedText[]): string[] {
  const fields = [
    ...new Set(texts.flatMap(({ field, text }) => (HOMES.some((home) => home.test(text)) ? [field] : []))),
  ]
  const told = fields
    .slice(0, HOMES_TOLD_COUNT_MAX)
    .map(
      (field) =>
        `${field} names a home folder: it tells a user name, and the path is of this laptop alone. Write paths from the root of the repository.`,
    )
  return fields.length > told.length ? [...told, `${fields.length - told.length} more fields name home folders.`] : told
}
