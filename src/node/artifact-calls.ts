/** Artifacts as callers give them, and as they get them back; types alone. */
import type { AfterRemoval, Content, Party } from './api.ts'

export interface ArtifactInput {
  type: 'file_diff' | 'file_ref' | 'test_command' | 'api_contract' | 'link' | 'file'
  [field: string]: unknown
}

/** An artifact's place in the index: facts that this node computed. */
export interface ArtifactFacts {
  artifact_id: string
  type: ArtifactInput['type']
  /** Bytes of the content; of what is not here, as its author says. */
  size: number
  sha256: string
  /** All of the content is on this laptop. */
  here: boolean
  /** How many of its bytes are, where not all are. */
  here_bytes?: number
  /** Entry that carries it. */
  entry_id: string
}
export type ArtifactListing = ArtifactFacts & {
  /** Names, paths, commands and addresses; long content is left to read_artifact. */
  content: Content<Record<string, string>>
}

export interface ArtifactParams {
  thread_id: string
  artifact_id: string
  offset?: number | undefined
  max_bytes?: number | undefined
  after_removal?: AfterRemoval
}
export type ArtifactSlice = {
  thread_id: string
  artifact_id: string
  type: ArtifactInput['type']
  from: Party
  entry_id: string
  offset: number
  size: number
  sha256: string
  /** All of the content is on this laptop. */
  here: boolean
  /** How many of its bytes are, where not all are. */
  here_bytes?: number
  /** All of it is here and was compared with the SHA-256. */
  verified: boolean
  truncated: boolean
  next_offset?: number
  /** text where the slice is UTF-8, else base64. */
  encoding: 'utf8' | 'base64'
  /** Absent where this part is not on this laptop and could not be fetched now. */
  content?: Content<string>
  elsewhere?: Elsewhere
}
/** Where the content is that could not be fetched now; it is not lost. */
export interface Elsewhere {
  /** The laptop that published it. */
  device: string
  reachable: boolean
  /** What to do, in words. */
  why: string
}
