/** What the cases of refusals show: bytes and the ground that they are judged on, apart from any object in memory. */
import type { Entry, Hex, RosterEntry, RosterLog, Wrapped } from '../../protocol/index.ts'
import type { Story } from '../cast.ts'
import { type Exhibit, type Fields, writeHex } from './vector-form.ts'

function envelopes(entries: Iterable<{ readonly envelope: Uint8Array }>): string[] {
  return [...entries].map(({ envelope }) => writeHex(envelope))
}

export function rosterOf(log: RosterLog): string[] {
  return envelopes(log.entries.values())
}

export interface JudgedWith {
  /** Entries that are stored in other threads. */
  readonly elsewhere?: readonly Entry[]
  /** Entries that were refused before. */
  readonly refused?: readonly Entry[]
  /** Protocol versions that are known, where they are not just the first. */
  readonly versions?: readonly number[]
}

/** An entry before the rules, with all that the story holds. */
export function judged(story: Omit<Story, 'create'>, entry: Entry, more: JudgedWith = {}): Exhibit {
  const { elsewhere = [], refused = [], versions = [] } = more
  const context: Fields = {
    roster: rosterOf(story.workspace.log),
    stored: envelopes(story.entries()),
    ...(elsewhere.length > 0 ? { elsewhere: envelopes(elsewhere) } : {}),
    ...(refused.length > 0 ? { refused: envelopes(refused) } : {}),
    ...(versions.length > 0 ? { versions } : {}),
  }
  return { check: 'authorize', input: { envelope: writeHex(entry.envelope) }, context }
}

/** An entry's bytes and signature. */
export function opened(envelope: Uint8Array): Exhibit {
  return { check: 'open_entry', input: { envelope: writeHex(envelope) }, context: {} }
}

export function decoded(bytes: Uint8Array): Exhibit {
  return { check: 'decode_canonical', input: { bytes: writeHex(bytes) }, context: {} }
}

/** A roster entry, or its bytes, before the roster. */
export function admitted(log: RosterLog, entry: Pick<RosterEntry, 'envelope'>): Exhibit {
  return {
    check: 'admit_roster_entry',
    input: { envelope: writeHex(entry.envelope) },
    context: { roster: rosterOf(log) },
  }
}

export function weighed(key: Hex): Exhibit {
  return { check: 'check_signing_key', input: { key }, context: {} }
}

/** A message of one of the protocols between peers. */
export function parsed(protocol: 'sync' | 'gossip' | 'join', frame: Uint8Array): Exhibit {
  return { check: `parse_${protocol}`, input: { frame: writeHex(frame) }, context: {} }
}

/** Bytes that a check opens with the keys of its context. */
export function shown(
  check: string,
  input: Readonly<Record<string, Uint8Array | string | number | null | Wrapped>>,
  context: Readonly<Record<string, Uint8Array | string | number>> = {},
): Exhibit {
  const write = (fields: typeof input): Fields =>
    Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, value instanceof Uint8Array ? writeHex(value) : value]),
    )
  return { check, input: write(input), context: write(context) }
}
