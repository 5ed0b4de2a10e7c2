/**
 * Finds secrets in texts that are about to be signed: secretlint's recommended rules, and those of secret-rules.ts.
 * Only where one stands and which rule found it leaves this file: a rule's message quotes what it found.
 */
import { findPhrase } from '../../protocol/index.ts'
import { ApiError } from './api-error.ts'
import { SECRET_RULES } from './secret-rules.ts'

export interface NamedText {
  /** As the caller named it, like `artifacts[0].diff`. */
  readonly field: string
  readonly text: string
}

export interface SecretFinding {
  field: string
  /** Of the field's text, from 1. */
  line: number
  /** Id of the rule, like `github`. */
  rule: string
}

/** Texts are looked at piece by piece: a rule's work grows with the square of what it finds in one. */
const PIECE_LENGTH_CHARS = 64 * 1024
/** The longest secret, a private key of 10,000 characters, with what stands around it. */
const OVERLAP_LENGTH_CHARS = 12 * 1024
const FINDINGS_COUNT_MAX = 8

interface Hit {
  readonly rule: string
  readonly at: number
}
type Rules = (text: string) => Promise<Hit[]>

/** At most eight, one for each field, line and rule. Lets go of the processor between pieces. */
export async function findSecrets(texts: readonly NamedText[]): Promise<SecretFinding[]> {
  const whole = texts.map(({ text }) => text).join('\n')
  const starts: number[] = []
  let length = 0
  for (const { text } of texts) {
    starts.push(length)
    length += text.length + 1
  }
  const rules = await loadRules()
  const found = new Map<string, SecretFinding>()
  for (let from = 0; from < whole.length; from += PIECE_LENGTH_CHARS) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve))
    // One character more, so that a rule that looks at what stands before sees it.
    const begin = Math.max(0, from - 1)
    for (const { rule, at } of await hitsIn(
      whole.slice(begin, from + PIECE_LENGTH_CHARS + OVERLAP_LENGTH_CHARS),
      rules,
    )) {
      const index = starts.findLastIndex((start) => start <= begin + at)
      const named = texts[index]
      if (!named) continue
      const line = named.text.slice(0, begin + at - (starts[index] ?? 0)).split('\n').length
      const finding = { field: named.field, line, rule }
      found.set(JSON.stringify(finding), finding)
      if (found.size >= FINDINGS_COUNT_MAX) return [...found.values()]
    }
  }
  return [...found.values()]
}

/** A letter of another script right before a token hides it from the rules: so they see the ASCII alone, too. */
async function hitsIn(piece: string, rules: Rules): Promise<Hit[]> {
  const text = piece.replaceAll('\uFEFF', ' ')
  const ascii = text.replaceAll(/[^\n -~]/g, ' ')
  return [...(await rules(text)), ...(ascii === text ? [] : await rules(ascii))].toSorted((a, b) => a.at - b.at)
}

let loaded: Promise<Rules> | undefined

/** Loaded when something is first said, since it takes as long as the rest of a start. */
function loadRules(): Promise<Rules> {
  loaded ??= importRules()
  return loaded
}

const PACKAGE = '@secretlint/secretlint-rule-'

async function importRules(): Promise<Rules> {
  const [{ lintSource }, { rules }, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ])
  // It would keep a mark of every rule and every call for ever.
  secretLintProfiler.setEnabled(false)
  // A comment in the text must not switch a rule off.
  const used = rules.filter(({ meta }) => meta.id !== `${PACKAGE}filter-comments`)
  const config = { rules: used.map((rule) => ({ id: rule.meta.id, rule })) }
  return async (text) => {
    // The name makes no rule read a file, which the one for .p12 would.
    const source = { content: text, filePath: 'text', ext: '.txt', contentType: 'text' as const }
    const hits = await lintSource({ source, options: { config, noPhysicFilePath: true } }).then(
      ({ messages }) => messages.map(({ ruleId, range }) => ({ rule: ruleId.replace(PACKAGE, ''), at: range[0] })),
      // What went wrong may quote the text.
      () => {
        throw new ApiError('internal', 'The texts could not be searched for secrets, so nothing was signed.')
      },
    )
    for (const { id, pattern, isSecret } of SECRET_RULES)
      for (const match of text.matchAll(pattern))
        if (isSecret?.(match) ?? true) hits.push({ rule: id, at: match.index })
    // Twelve words are an invite, twenty-four take a workspace over.
    const phrase = findPhrase(text)
    if (phrase !== undefined) hits.push({ rule: 'relay-words', at: phrase })
    return hits
  }
}
