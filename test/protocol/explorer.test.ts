import { describe, expect, test } from 'vitest'
import { addNode, authorize, emptyGraph, reduce } from '../../protocol/index.ts'
import { placeNode } from '../../protocol/graph.ts'
import { explore } from './explorer.ts'
import type { World } from './explorer-world.ts'
import { loadMutant, type Mutant } from './mutant.ts'

const RULES = { addNode, authorize, emptyGraph, placeNode, reduce }

/** How many histories each world has; another number means that other entries are stored. */
const WORLDS: readonly (World & { name: string; histories: number })[] = [
  { name: 'one laptop each', senders: 1, recipients: 1, entriesMax: 4, histories: 3923 },
  { name: 'two recipient laptops', senders: 1, recipients: 2, entriesMax: 3, histories: 1477 },
  { name: 'two laptops each', senders: 2, recipients: 2, entriesMax: 3, histories: 3494 },
  { name: 'a laptop that a wrap adds', senders: 1, recipients: 1, added: true, entriesMax: 4, histories: 11_279 },
  {
    name: 'an added laptop, and a fence of the one that added it',
    senders: 1,
    recipients: 1,
    added: true,
    removed: ['r0'],
    entriesMax: 4,
    histories: 16_507,
  },
  {
    name: 'two sender laptops and a fence',
    senders: 2,
    recipients: 1,
    removed: ['r0'],
    kinds: ['accept', 'cancel', 'ack'],
    entriesMax: 4,
    histories: 9143,
  },
  {
    name: 'fences in both directions',
    senders: 2,
    recipients: 2,
    removed: ['r0', 's1'],
    kinds: ['accept', 'cancel', 'ack'],
    entriesMax: 4,
    histories: 22_986,
  },
]

describe('what is promised holds in every history', () => {
  test.each(WORLDS)('$name, $entriesMax entries after create: $histories histories', (world) => {
    const found = explore(RULES, world)
    const statuses = [...found.statuses].map(([status, count]) => `${count} ${status}`).join(' · ')
    console.info(
      `${world.name}, up to ${world.entriesMax} entries: ${found.histories} histories (${statuses}), ${found.stored} of ${found.judged} entries stored, ${found.violations.length} promises broken`,
    )
    expect(found.violations).toEqual([])
    expect(found.histories).toBe(world.histories)
    for (const status of ['pending', 'accepted', 'accepted, final', 'cancelled', 'cancelled, final'])
      expect(found.statuses.get(status)).toBeGreaterThan(0)
  })
})

const SMALL: World = { senders: 1, recipients: 1, entriesMax: 4 }
const FENCED: World = { ...SMALL, added: true, removed: ['r0'] }

const MUTANTS: readonly (Mutant & { breaks: string; world?: World })[] = [
  {
    name: 'an accept is never void (E2 without its receipts)',
    file: 'effect.ts',
    from: 'return ofDevice(view, device).some((q) => q.afterCancel && isConcurrent(q, node))',
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
    name: 'a complete waits for a laptop that was added after it',
    file: 'final.ts',
    from: '(devices.has(author) && !isTooLate)',
    to: 'devices.has(author)',
    breaks: 'a final complete stays, and so does the one that leads',
    world: FENCED,
  },
  {
    name: 'a fence holds back an accept only if it names its device',
    file: 'final.ts',
    from: '...effectiveAccepts(settled).map(deviceOf)',
    to: "...ofKind(view, 'accept').filter((accept) => !isVoid(withFences(view, []), accept) && !isCut(settled, accept)).map(deviceOf)",
    breaks: 'a final cancel stays, whatever recipients do',
    world: FENCED,
  },
  {
    name: 'a fence settles a cancel before all sender laptops know it',
    file: 'final.ts',
    from: '[...listed, ...added].every((device) =>',
    to: '[...listed, ...added].some((device) =>',
    breaks: 'a final cancel stays, whatever recipients do',
    world: { senders: 2, recipients: 1, removed: ['r0'], kinds: ['accept', 'cancel', 'ack'], entriesMax: 4 },
  },
  {
    name: 'a fence cuts what the sender had built on (E5 without its exception)',
    file: 'effect.ts',
    from: 'if (isBefore(node, fence)) return false',
    to: 'return true',
    breaks: 'the accept of a device that has not forked has effect',
    world: FENCED,
  },
  {
    name: 'any sender laptop’s word makes a complete final',
    file: 'final.ts',
    from: '!ofDevice(view, device).some((own) => isBefore(lead, own))))',
    to: '!isSeenBySender(view, lead) && device))',
    breaks: 'a final complete stays, and so does the one that leads',
    world: { senders: 2, recipients: 2, kinds: ['accept', 'complete', 'ack'], entriesMax: 5 },
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
    const found = explore(loaded.rules, mutant.world ?? SMALL)
    expect(found.violations.map(({ promise }) => promise)).toContain(mutant.breaks)
  })
})
