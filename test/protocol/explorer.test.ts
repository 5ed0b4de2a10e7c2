import { describe, expect, test } from 'vitest'
import { addNode, authorize, emptyGraph, reduce } from '../../protocol/index.ts'
import { placeNode } from '../../protocol/graph.ts'
import { explore, type Exploration, type World } from './explorer.ts'
import { loadMutant, type Mutant } from './mutant.ts'

const RULES = { addNode, authorize, emptyGraph, placeNode, reduce }

/** How many histories each world has; a change of these numbers is a change of the rules. */
const WORLDS: readonly (World & { histories: number })[] = [
  { senders: 1, recipients: 1, entriesMax: 4, histories: 3923 },
  { senders: 1, recipients: 2, entriesMax: 3, histories: 1477 },
  { senders: 2, recipients: 2, entriesMax: 3, histories: 3494 },
]

function report(world: World, found: Exploration): void {
  const { senders, recipients, entriesMax } = world
  console.info(
    `${senders} sender, ${recipients} recipient devices, up to ${entriesMax} entries after create: ${found.histories} histories, ` +
      `${found.judged} entries judged, ${found.stored} stored, ${found.violations.length} promises broken`,
  )
}

describe('what is promised holds in every history', () => {
  test.each(WORLDS)('$senders sender and $recipients recipient devices, $entriesMax entries after create', (world) => {
    const found = explore(RULES, world)
    report(world, found)
    expect(found.violations).toEqual([])
    expect(found.histories).toBe(world.histories)
  })
})

const MUTANTS: readonly (Mutant & { breaks: string })[] = [
  {
    name: 'an accept is never void (E2 without its receipts)',
    file: 'effect.ts',
    from: "return ofDevice(view, device).some((q) => q.afterCancel && isConcurrent(q, node))",
    to: 'return false',
    breaks: 'a final cancel stays, whatever recipients do',
  },
  {
    name: 'a receipt after an accept voids it too (E2 without concurrency)',
    file: 'effect.ts',
    from: 'if (!view.graph.forked.has(device)) return false',
    to: 'if (ofDevice(view, device).some((q) => q.afterCancel && q !== node)) return true',
    breaks: 'the accept of a device that has not forked has effect',
  },
  {
    name: 'cancel beats accept',
    file: 'effect.ts',
    from: "if (effectiveAccepts(view).length > 0) return 'accepted'",
    to: "if (ofKind(view, 'cancel').length === 0 && effectiveAccepts(view).length > 0) return 'accepted'",
    breaks: 'the accept of a device that has not forked has effect',
  },
  {
    name: 'a device may build on its own fork (no S5)',
    file: 'authorize.ts',
    from: "=== header.seq ? pass(node) : refuse('own_fork')",
    to: ">= header.seq ? pass(node) : refuse('own_fork')",
    breaks: 'nobody builds on a fork of his own',
  },
  {
    name: 'a cancel may be written on any state (no S8)',
    file: 'authorize.ts',
    from: "cancel: ['pending'],",
    to: '',
    breaks: 'what the state forbids is never stored',
  },
  {
    name: 'the recipient may cancel',
    file: 'authorize.ts',
    from: "cancel: ['sender'],",
    to: "cancel: ['sender', 'recipient'],",
    breaks: 'each kind is written by its side alone',
  },
  {
    name: 'a cancel is final at once (E7 waits for nobody)',
    file: 'final.ts',
    from: 'return fewest?.length === 0 ? FINAL',
    to: 'return fewest ? FINAL',
    breaks: 'a final cancel stays, whatever recipients do',
  },
  {
    name: 'a complete is final at once',
    file: 'final.ts',
    from: 'return missing.length === 0 ? FINAL : { final: false, waitingFor: missing }',
    to: 'return FINAL',
    breaks: 'a final complete stays, and so does the one that leads',
  },
  {
    name: 'prev may not lie in the past of a dep',
    file: 'authorize.ts',
    from: 'const deps = header.prev === null ? parents : parents.slice(1)',
    to: 'const deps = parents',
    breaks: 'what is honest is never refused',
  },
]

describe('the explorer notices', () => {
  test.each(MUTANTS)('$name', async (mutant) => {
    using loaded = await loadMutant(mutant)
    const found = explore(loaded.rules, { senders: 1, recipients: 1, entriesMax: 4 })
    expect(found.violations.map(({ promise }) => promise)).toContain(mutant.breaks)
  })
})
