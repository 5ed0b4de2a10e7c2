/** Handoffs as people and agents write them, from a vocabulary of a team: the same seed gives the same texts. */
import type { ContinuityRecord } from '../../protocol/index.ts'
import type { ArtifactInput } from '../../src/node/api.ts'
import { type Random, random } from '../sim/random.ts'

const SYLLABLES =
  'ba be bi bo ca ce co cu da de di do fa fe fi ga ge go la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vi con pro ter ing tion ment able'.split(
    ' ',
  )
const WORDS_COUNT = 8000
const IDENTIFIERS_COUNT = 6000
const PATHS_COUNT = 1500

export interface Handoff {
  summary: string
  record: ContinuityRecord | undefined
  artifacts: ArtifactInput[]
  messages: string[]
}

export interface Writer {
  handoff(): Handoff
  /** A few words that somebody would look for, of which some are mistyped and some are beginnings. */
  query(): string
}

export function writer(seed: string): Writer {
  const dice = random(seed)
  const words = Array.from({ length: WORDS_COUNT }, () => some(dice, SYLLABLES, dice.between(1, 4)).join(''))
  const identifiers = Array.from({ length: IDENTIFIERS_COUNT }, (_, i) => {
    const parts = some(dice, words, dice.between(2, 3))
    return i % 2 === 0 ? parts.join('_') : parts.map((part, at) => (at === 0 ? part : capital(part))).join('')
  })
  const paths = Array.from({ length: PATHS_COUNT }, () => `src/${some(dice, words.slice(0, 200), 2).join('/')}.ts`)
  const word = (): string => words[common(dice, WORDS_COUNT)] ?? ''
  const identifier = (): string => identifiers[common(dice, IDENTIFIERS_COUNT)] ?? ''
  const path = (): string => paths[common(dice, PATHS_COUNT)] ?? ''
  const hash = (): string => Buffer.from(dice.bytes(20)).toString('hex')

  function prose(count: number): string {
    return Array.from({ length: count }, (_, i) => {
      if (i % 12 === 11) return `${word()}.`
      if (dice.chance(0.08)) return `\`${identifier()}\``
      return dice.chance(0.02) ? path() : word()
    }).join(' ')
  }

  function diff(lines: number): string {
    const head = `index ${hash().slice(0, 9)}..${hash().slice(0, 9)} 100644\n@@ -1,${lines} +1,${lines} @@\n`
    const line = (): string => {
      const sign = dice.pick([' ', '+', '-']) ?? ' '
      return `${sign}  const ${identifier()} = ${identifier()}(${word()}, ${dice.below(100)}) // ${word()} ${word()}`
    }
    return head + Array.from({ length: lines }, line).join('\n')
  }

  function record(): ContinuityRecord {
    const lines = (count: number): string[] => Array.from({ length: count }, () => prose(dice.between(5, 15)))
    return {
      objective: { summary: prose(15), acceptance_criteria: lines(2) },
      current_state: { complete: lines(2), in_progress: lines(1), blocked: [], unverified: lines(1) },
      decisions: [{ summary: prose(10), rationale: prose(20), status: 'accepted' }],
      evidence: [{ label: prose(3), claim: prose(8), uri: `https://ci.example/${hash().slice(0, 8)}` }],
      constraints: [{ kind: 'deadline', text: prose(6) }],
      next_action: { summary: prose(12), verification: prose(8) },
      ownership: { next_actor: 'frank@acme', reviewers: [] },
      open_questions: lines(1),
    }
  }

  return {
    handoff: () => ({
      summary: prose(dice.between(15, 60)),
      record: dice.chance(0.5) ? record() : undefined,
      artifacts: [
        ...(dice.chance(0.6) ? [{ type: 'file_diff' as const, path: path(), diff: diff(dice.between(10, 120)) }] : []),
        ...(dice.chance(0.4) ? [{ type: 'file_ref' as const, path: path(), git_sha: hash() }] : []),
        { type: 'test_command' as const, command: `npm test -- ${path()}` },
      ],
      messages: Array.from({ length: dice.between(0, 4) }, () => prose(dice.between(8, 50))),
    }),
    query() {
      const found = Array.from({ length: dice.between(1, 3) }, () => (dice.chance(0.3) ? identifier() : word()))
      const [first = ''] = found
      if (first.length > 5 && dice.chance(0.2)) found[0] = first.slice(0, 3) + first.slice(4)
      if (first.length > 5 && dice.chance(0.2)) found[0] = first.slice(0, 5)
      return found.join(' ')
    },
  }
}

/** A place in a list in which the first ones are the common ones. */
function common(dice: Random, count: number): number {
  const at = dice.below(2 ** 30) / 2 ** 30
  return Math.floor(count * at ** 3)
}

function some<T>(dice: Random, items: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => dice.pick(items)).filter((item) => item !== undefined)
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
