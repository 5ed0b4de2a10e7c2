/** Artifacts: from what a caller gives to what a body carries, and from there to the index and to readable bytes. */
import { createHash } from 'node:crypto'
import { type Artifact, ARTIFACT_TYPES, artifactId, type Hex, textId } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import type { ArtifactFacts, ArtifactInput } from './api.ts'

function textField(input: ArtifactInput, field: string): string {
  const value = input[field]
  if (typeof value !== 'string') throw new ApiError('invalid_params', `artifact ${input.type}: ${field} has to be text`)
  return value
}

function optionalFields(input: ArtifactInput, fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap((field) => (input[field] === undefined ? [] : [[field, textField(input, field)]])),
  )
}

/** The artifact that a body carries. Throws ApiError where fields are missing or do not fit the type. */
export function toArtifact(input: ArtifactInput): Artifact {
  switch (input.type) {
    case 'file_diff':
      return {
        type: 'file_diff',
        path: textField(input, 'path'),
        diff: textField(input, 'diff'),
        ...optionalFields(input, ['base_commit']),
      }
    case 'file_ref':
      return { type: 'file_ref', path: textField(input, 'path'), ...optionalFields(input, ['git_sha', 'lines']) }
    case 'test_command':
      return { type: 'test_command', command: textField(input, 'command'), ...optionalFields(input, ['cwd']) }
    case 'api_contract':
      return { type: 'api_contract', ...optionalFields(input, ['schema_url', 'inline']) }
    case 'link':
      return { type: 'link', url: textField(input, 'url'), ...optionalFields(input, ['title']) }
    case 'file':
      return {
        type: 'file',
        name: textField(input, 'name'),
        media_type: textField(input, 'media_type'),
        bytes: fileBytes(input),
      }
    default:
      throw new ApiError(
        'invalid_params',
        `There is no artifact type ${String(input.type)}; there are ${ARTIFACT_TYPES.join(', ')}.`,
      )
  }
}

function fileBytes(input: ArtifactInput): Uint8Array {
  if ((input['text'] === undefined) === (input['base64'] === undefined)) {
    throw new ApiError('invalid_params', 'artifact file: give its content either as text or as base64')
  }
  if (input['text'] !== undefined) return new TextEncoder().encode(textField(input, 'text'))
  const base64 = textField(input, 'base64')
  const bytes = Buffer.from(base64, 'base64')
  // Node skips what is no base64, and would hand on other bytes than were meant.
  if (bytes.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, ''))
    throw new ApiError('invalid_params', 'artifact file: base64 is not base64')
  return new Uint8Array(bytes)
}

/** The content of an artifact: what read_artifact gives in pages, and what size and SHA-256 are of. */
export function artifactBytes(artifact: Artifact): Uint8Array {
  switch (artifact.type) {
    case 'file_diff':
      return new TextEncoder().encode(artifact.diff)
    case 'file':
      return artifact.bytes ?? new Uint8Array(0)
    case 'test_command':
      return new TextEncoder().encode(artifact.command)
    case 'api_contract':
      return new TextEncoder().encode(artifact.inline ?? artifact.schema_url ?? '')
    case 'link':
      return new TextEncoder().encode(artifact.url)
    case 'file_ref':
      return new TextEncoder().encode(artifact.path)
  }
}

/** The content of an artifact as text, where it is text that its name and labels do not say already; undefined for bytes. */
export function artifactText(artifact: Artifact): string | undefined {
  switch (artifact.type) {
    case 'file_diff':
      return artifact.diff
    case 'api_contract':
      return artifact.inline
    case 'file':
      return artifact.bytes && utf8(artifact.bytes)
    case 'test_command':
    case 'link':
    case 'file_ref':
      return undefined
  }
}

/** NUL is in no text, and in most of what is none. */
function utf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function artifactTextId(artifact: Artifact): string {
  return textId('artifact', artifactId(artifact))
}

/** What this node computed itself of an artifact that `entry` carries. */
export function artifactFacts(artifact: Artifact, entry: Hex): ArtifactFacts {
  const bytes = artifactBytes(artifact)
  return {
    artifact_id: artifactTextId(artifact),
    type: artifact.type,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    entry_id: textId('entry', entry),
  }
}

/** What tells artifacts of one record apart: of two with one name the later one stands. */
export function artifactName(artifact: Artifact): string {
  switch (artifact.type) {
    case 'file_diff':
    case 'file_ref':
      return artifact.path
    case 'test_command':
      return artifact.command
    case 'api_contract':
      return artifact.schema_url ?? 'api_contract'
    case 'link':
      return artifact.title ?? artifact.url
    case 'file':
      return artifact.name
  }
}

/** Names, paths, commands and addresses: everything but long content. */
export function artifactLabels(artifact: Artifact): Record<string, string> {
  switch (artifact.type) {
    case 'file_diff':
      return labels(artifact, ['path', 'base_commit'])
    case 'file_ref':
      return labels(artifact, ['path', 'git_sha', 'lines'])
    case 'test_command':
      return labels(artifact, ['command', 'cwd'])
    case 'api_contract':
      return labels(artifact, ['schema_url'])
    case 'link':
      return labels(artifact, ['url', 'title'])
    case 'file':
      return labels(artifact, ['name', 'media_type'])
  }
}

function labels(artifact: object, fields: readonly string[]): Record<string, string> {
  const found = artifact as Record<string, unknown>
  return Object.fromEntries(
    fields.flatMap((field) => (typeof found[field] === 'string' ? [[field, found[field]]] : [])),
  )
}
