/** The rules with some of their source changed: what the tests of the rules have to notice. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Graph, NodeOf, Verdict } from '../../protocol/index.ts'
import type { Rules } from './explorer.ts'
import type { Bounds } from './explorer-world.ts'

const PROTOCOL = fileURLToPath(new URL('../../protocol', import.meta.url))

/** Files that decide, and so are loaded anew for each mutant. What they import beside each other is loaded once. */
const RULE_FILES = ['graph.ts', 'effect.ts', 'final.ts', 'thread.ts', 'authorize.ts', 'roster.ts', 'limits.ts']

/** All that a vector asks of the rules. */
export interface LoadedRules extends Rules {
  readonly recordHeads: (graph: Graph) => NodeOf<'create' | 'revise'>[]
  readonly verdictOf: (graph: Graph) => Verdict | undefined
}

export interface Change {
  readonly file: string
  /** A text that stands in the file exactly once; white space does not matter. */
  readonly from: string
  readonly to: string
}

/** A rule switched off or bent, and what notices it. */
export type Mutant = Change & { readonly rule: string; readonly name: string } & Finder

export type Finder =
  /** The explorer, in a world and histories of so many entries. */
  | { readonly world: string; readonly entries: number }
  /** A vector, by its path in protocol/vectors. */
  | { readonly vector: string }
  /** A story of mutant-probes.ts, by its name. */
  | { readonly probe: string }
  /** Nothing can, since another rule says the same: why. */
  | { readonly nothing: string }

/** The bounds of rule S10, lowered. */
export function boundChanges(bounds: Bounds): Change[] {
  const set = (name: string, from: number, to: number) => ({
    file: 'limits.ts',
    from: `export const ${name} = ${from}`,
    to: `export const ${name} = ${to}`,
  })
  return [
    set('DEVICE_TURNS_COUNT_MAX', 400, bounds.turns),
    set('PENDING_TURNS_COUNT_MAX', 64, bounds.pendingTurns),
    set('DEVICE_WRAPS_COUNT_MAX', 32, bounds.wraps),
    set('LACK_CHANGES_COUNT_MAX', 100, bounds.lackChanges),
  ]
}

/** Copies the rules to a folder of their own, with the changes made, and loads them from there. */
export function loadRules(changes: readonly Change[]): LoadedRules {
  const folder = mkdtempSync(join(tmpdir(), 'relay-mutant-'))
  try {
    mkdirSync(join(folder, 'protocol'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    for (const file of RULE_FILES) {
      const source = readFileSync(join(PROTOCOL, file), 'utf8')
      const changed = changes.filter((change) => change.file === file).reduce(changeOne, source)
      writeFileSync(join(folder, 'protocol', file), withOriginals(changed))
    }
    const load = createRequire(import.meta.url)
    const parts = ['graph.ts', 'authorize.ts', 'thread.ts'].map(
      (file) => load(join(folder, 'protocol', file)) as Partial<LoadedRules>,
    )
    return Object.assign({}, ...parts) as LoadedRules
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function changeOne(source: string, { file, from, to }: Change): string {
  // Wherever the formatter breaks its lines.
  const words = from.split(/\s+/).map((word) => word.replace(/[^\w\s]/g, '\\$&'))
  const parts = source.split(new RegExp(words.join('\\s+')))
  if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times: ${from}`)
  return parts.join(to)
}

/** Imports of files that are not copied lead to the originals. */
function withOriginals(source: string): string {
  return source.replaceAll(/from '\.\/([\w-]+\.ts)'/g, (clause, file: string) =>
    RULE_FILES.includes(file) ? clause : `from '${pathToFileURL(join(PROTOCOL, file)).href}'`,
  )
}
