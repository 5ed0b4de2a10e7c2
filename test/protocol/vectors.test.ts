import { describe, expect, test } from 'vitest'
import { REFUSALS } from '../../protocol/index.ts'
import { shuffled } from './delivery.ts'
import { allVectors, HISTORIES, textOf } from './vector-all.ts'
import { CHECKS, readRoster } from './vector-checks.ts'
import { type Arrival, receive, tellBodies, tellThread, tellWraps } from './vector-delivery.ts'
import { vectorAt, vectorPaths, vectorText } from './vector-files.ts'
import { type Fields, readHex, type Vector } from './vector-form.ts'
import { literal } from './vector-history.ts'
import { MAKES } from './vector-makes.ts'
import { rosterThroughSync, type Way, WAYS } from './vector-paths.ts'

const ON_DISK = vectorPaths().map((path) => ({ path, vector: vectorAt(path) }))

function some(is: (vector: Vector) => boolean) {
  const found = ON_DISK.filter(({ vector }) => is(vector))
  if (found.length === 0) throw new Error('no such vector')
  return found
}

describe('protocol/vectors', () => {
  test('holds what npm run vectors:make writes, to the byte', async () => {
    const made = await allVectors()
    expect(ON_DISK.map(({ path }) => path)).toEqual([...made.keys()].toSorted())
    for (const [path, vector] of made) expect(vectorText(path), path).toBe(textOf(vector))
  })

  test('stays small enough to be read', () => {
    const total = ON_DISK.reduce((sum, { path }) => sum + vectorText(path).length, 0)
    expect(total).toBeLessThan(3.25 * 1024 * 1024)
  })

  test('has each vector in the folder of its area, with a sentence for a title', () => {
    for (const { path, vector } of ON_DISK) {
      expect(path.split('/')[0]).toBe(vector.area)
      expect(vector.title).toMatch(/^[A-Z\d].*\.$/)
    }
  })
})

// Refusals.

const REFUSING = some(({ repaired }) => repaired !== undefined)

/** The fields of the repaired twin: null there says that a field is left out. */
function repair(fields: Fields, changed: Fields = {}): Fields {
  const whole = Object.entries({ ...fields, ...changed })
  return Object.fromEntries(whole.filter(([key, value]) => !(key in changed && value === null)))
}

function answer(vector: Vector, input: Fields, context: Fields) {
  const check = CHECKS[vector.check]?.[1]
  if (!check) throw new Error(`no check is named ${vector.check}`)
  return check(input, context)
}

describe('a vector with one fault', () => {
  test.each(REFUSING)('$path', async ({ vector }) => {
    const { input, context, expected, repaired } = vector
    expect(await answer(vector, input, context)).toMatchObject({ ok: false, ...expected })
    expect(await answer(vector, repair(input, repaired?.input), repair(context, repaired?.context))).toMatchObject({
      ok: true,
    })
  })

  test('exists for every refusal', () => {
    const shown = new Set(REFUSING.map(({ vector }) => vector.expected['refusal']))
    expect(Object.keys(REFUSALS).filter((name) => !shown.has(name))).toEqual([])
  })

  test('differs from its repaired twin', () => {
    for (const { path, vector } of REFUSING) expect(vector.repaired, path).not.toEqual({})
  })
})

// What is made.

describe('a vector of exact bytes', () => {
  test.each(some(({ check }) => check in MAKES))('$path', async ({ vector }) => {
    const { check, input, context, expected } = vector
    expect(await MAKES[check]?.[1](input, context)).toEqual({ ok: true, value: expected })
  })

  test('exists for everything that can be made', () => {
    const shown = new Set(ON_DISK.map(({ vector }) => vector.check))
    expect([...Object.keys(MAKES), ...Object.keys(CHECKS)].filter((name) => !shown.has(name))).toEqual([])
  })
})

// Histories.

const TOLD = some(({ check }) => check === 'history')

/** Rows, attacks and subjects that a history has to show. */
const SHOWN = [
  'row: accept by a device that had the cancel',
  'row: cancel by a sender that had the accept',
  'row: accept beside a cancel',
  'row: two sessions on one laptop accept',
  'row: two laptops of the recipient accept at once',
  'row: two completes at once',
  'row: message or revise beside a complete',
  'row: recipient forks',
  'row: the same after a complete',
  'row: cancel and the recipient is unreachable',
  'attack: backdated accept after a seen cancel',
  'attack: backdated cancel after a seen accept',
  'attack: fork to different peers',
  'attack: replay into another thread',
  'attack: replay into another workspace',
  'attack: cut and paste of a body',
  'attack: omission of known parents',
  'attack: clock lies',
  'attack: an old roster point',
  'attack: a removed device that acts on',
  'attack: key swap for a recipient',
  'attack: a device added in silence',
  'attack: a ciphertext with two openings',
  'attack: carrier that reorders and replays',
  'attack: carrier that drops and withholds',
  'fence',
  'fences in both directions',
  'final',
  'approve',
  'share',
  'sequence numbers',
  'late',
  'lead',
  'fork',
  'repudiated',
  'added device',
  'revisions',
  'receipts',
  'order',
  'refused parent',
  'any order of arrival',
]

function arrivalsOf({ input }: Vector): Arrival[] {
  const bodies = (input['bodies'] ?? []) as readonly (string | null)[]
  return (input['entries'] as readonly string[]).map((envelope, i) => {
    const body = bodies[i] ?? null
    return { envelope: readHex(envelope), body: body === null ? null : readHex(body) }
  })
}

function threadOf({ input }: Vector): string {
  return input['thread'] as string
}

function rosterOf({ context }: Vector) {
  return readRoster(rosterThroughSync((context['roster'] as readonly string[]).map(readHex)))
}

function keysOf({ context }: Vector) {
  return new Map(
    Object.entries((context['keys'] ?? {}) as Record<string, string>).map(([id, key]) => [id, readHex(key)]),
  )
}

function seedsOf({ context }: Vector) {
  const seeds = Object.entries((context['prekey_seeds'] ?? {}) as Record<string, string>)
  return seeds.map(([device, seed]) => [device, readHex(seed)] as const)
}

function without(fields: Fields, ...keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)))
}

/** The state alone: not where in an order of arrival something was refused, and nothing that is opened with keys. */
function stateIn(told: Fields): Fields {
  return without(told, 'refused', 'waiting', 'bodies', 'wraps')
}

describe('a history', () => {
  test.each(HISTORIES)('ends as its teller says: $name', async (one) => {
    const told = await one.tell()
    const { expected } = vectorAt(`thread/${one.name}.json`)
    expect(expected).toMatchObject(literal(told))
    for (const [entry, number] of told.ending.numbers ?? [])
      expect(expected['numbers']).toContainEqual([entry.id, number])
  })

  describe.each(WAYS)('comes to the same $name', (way: Way) => {
    test.each(TOLD)('$path', async ({ vector }) => {
      const log = rosterOf(vector)
      const carried = await way.carry(arrivalsOf(vector), log)
      const received = receive(carried, log, way.open)
      const told = tellThread(received, threadOf(vector))
      const { wraps, bodies } = vector.expected
      if (way.storedOnly) expect(stateIn(told)).toEqual(stateIn(vector.expected))
      else {
        expect(told).toEqual(without(vector.expected, 'bodies', 'wraps'))
        if (bodies) expect(tellBodies(received, carried, keysOf(vector))).toEqual(bodies)
        if (wraps) expect(await tellWraps(received.graphs.get(threadOf(vector)), seedsOf(vector))).toEqual(wraps)
      }
    })
  })

  test.each(TOLD)('comes to the same in any order of arrival: $path', ({ vector }) => {
    const log = rosterOf(vector)
    const arrivals = arrivalsOf(vector).map((arrival, position) => ({ arrival, position }))
    for (const order of [
      arrivals.toReversed(),
      shuffled(arrivals, [5, 2, 8, 1, 9, 4]),
      shuffled(arrivals, [3, 1, 2]),
    ]) {
      const received = receive(
        order.map(({ arrival }) => arrival),
        log,
      )
      const back = (position: number) => order[position]?.position ?? -1
      const told = tellThread(
        {
          graphs: received.graphs,
          refused: new Map([...received.refused].map(([position, refusal]) => [back(position), refusal])),
          waiting: received.waiting.map(back),
        },
        threadOf(vector),
      )
      expect(told).toEqual(without(vector.expected, 'bodies', 'wraps'))
    }
  })

  test('is told for every row, every attack that is one, and every subject', () => {
    const shown = new Set(HISTORIES.flatMap(({ shows }) => shows))
    expect(SHOWN.filter((what) => !shown.has(what))).toEqual([])
    expect([...shown].filter((what) => !SHOWN.includes(what))).toEqual([])
  })
})
