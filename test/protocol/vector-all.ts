/** All vectors, by the path of their file below protocol/vectors. */
import { ARTIFACT_CASES } from './cases/artifact.ts'
import { COUNT_CASES } from './cases/counts.ts'
import { ENTRY_CASES } from './cases/entry.ts'
import type { RefusalCase } from './cases/refusal-case.ts'
import { ROSTER_CASES } from './cases/roster.ts'
import { SEALED_CASES } from './cases/sealed.ts'
import { THREAD_CASES } from './cases/thread.ts'
import { type AcceptedCase, ACCEPTED_STATEMENTS } from './vector-accepted.ts'
import { ACCEPTED_SEALS } from './vector-accepted-seals.ts'
import { ATTACK_HISTORIES } from './vector-attacks.ts'
import { BOUND_CASES } from './vector-bounds.ts'
import { CANONICAL_CASES } from './vector-canonical.ts'
import { CARRIED_HISTORIES } from './vector-carried.ts'
import { CHECKS } from './vector-checks.ts'
import { CORNER_HISTORIES } from './vector-corners.ts'
import { FENCE_HISTORIES } from './vector-fences.ts'
import { FINALITY_HISTORIES } from './vector-finality.ts'
import type { Fields, Vector } from './vector-form.ts'
import { type HistoryCase, historyVector } from './vector-history.ts'
import { MAKES } from './vector-makes.ts'
import { ROSTER_STATE_CASES } from './vector-roster.ts'
import { TABLE_HISTORIES } from './vector-table.ts'
import { TURN_HISTORIES } from './vector-turns.ts'

const REFUSAL_CASES: readonly RefusalCase[] = [
  ...CANONICAL_CASES,
  ...ENTRY_CASES,
  ...BOUND_CASES,
  ...THREAD_CASES,
  ...COUNT_CASES,
  ...ROSTER_CASES,
  ...ROSTER_STATE_CASES,
  ...SEALED_CASES,
  ...ARTIFACT_CASES,
]

export const HISTORIES: readonly HistoryCase[] = [
  ...TABLE_HISTORIES,
  ...ATTACK_HISTORIES,
  ...CARRIED_HISTORIES,
  ...FENCE_HISTORIES,
  ...FINALITY_HISTORIES,
  ...TURN_HISTORIES,
  ...CORNER_HISTORIES,
]

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll('’', '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

/** What of `right` differs from `wrong`; undefined where nothing does. */
function differing(wrong: Fields, right: Fields): Fields | undefined {
  const keys = [...new Set([...Object.keys(wrong), ...Object.keys(right)])]
  const changed = keys.filter((key) => JSON.stringify(wrong[key]) !== JSON.stringify(right[key]))
  if (changed.length === 0) return undefined
  // What the repaired one does not have is written as null.
  return Object.fromEntries(changed.map((key) => [key, right[key] ?? null]))
}

async function refusalVector({ refusal, what, exhibit }: RefusalCase): Promise<Vector> {
  const [wrong, right] = [await exhibit(true), await exhibit(false)]
  const area = CHECKS[wrong.check]?.[0]
  if (area === undefined || wrong.check !== right.check) throw new Error(`no check is named ${wrong.check}`)
  const input = differing(wrong.input, right.input)
  const context = differing(wrong.context, right.context)
  return {
    area,
    title: sentence(what),
    check: wrong.check,
    context: wrong.context,
    input: wrong.input,
    expected: { refusal },
    repaired: { ...(context ? { context } : {}), ...(input ? { input } : {}) },
  }
}

async function acceptedVector({ title, check, input }: AcceptedCase): Promise<Vector> {
  const [area, make] = MAKES[check] ?? []
  if (area === undefined || !make) throw new Error(`no check is named ${check}`)
  const made = await make(input, {})
  if (!made.ok) throw new Error(`${title} ${made.refusal}`)
  return { area, title, check, context: {}, input, expected: made.value }
}

/** Path → vector. Fixed seeds: the same each time. */
export async function allVectors(): Promise<ReadonlyMap<string, Vector>> {
  const vectors = new Map<string, Vector>()
  const put = (name: string, vector: Vector) => {
    const path = `${vector.area}/${name}.json`
    if (vectors.has(path)) throw new Error(`two vectors are named ${path}`)
    vectors.set(path, vector)
  }
  for (const one of REFUSAL_CASES) put(`refuses-${slug(one.refusal)}-${slug(one.what)}`, await refusalVector(one))
  for (const one of [...ACCEPTED_STATEMENTS, ...ACCEPTED_SEALS]) put(one.name, await acceptedVector(one))
  for (const one of HISTORIES) put(one.name, await historyVector(one))
  return vectors
}

/** The text of a vector's file. */
export function textOf(vector: Vector): string {
  return `${JSON.stringify(vector, null, 2)}\n`
}
