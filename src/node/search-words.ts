/**
 * Text as words that can be looked up: folded, so that case and diacritics make no difference; an
 * identifier whole and in its parts; scripts without spaces in pairs of characters.
 */

/** A word is cut here; a longer run of letters is a blob, of which the beginning is enough. */
const WORD_LENGTH_CHARS_MAX = 64

/** Letters, digits and their marks, with what joins the parts of an identifier: users.py, next_cursor, x-request-id, l'API. */
const COMPOUND = /[\p{L}\p{N}\p{M}_]+(?:[-.'’][\p{L}\p{N}\p{M}_]+)*/gu
const JOINER = /[-.'’_]+/u
/** Before the capital in nextCursor, and before the S in HTTPServer. */
const CAMEL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const PLAIN = /^[a-z0-9]+$/
/** Scripts that put no space between words. */
const UNSPACED_SCRIPTS =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}\\p{scx=Tibetan}'
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, 'u')
const RUN_OF_ONE_SORT = new RegExp(`[${UNSPACED_SCRIPTS}]+|[^${UNSPACED_SCRIPTS}]+`, 'gu')
/** Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs of Arabic: what people leave out when they type. */
const DIACRITIC_RANGES = [
  [0x300, 0x36f],
  [0x591, 0x5bd],
  [0x5bf, 0x5bf],
  [0x5c1, 0x5c7],
  [0x64b, 0x65f],
  [0x670, 0x670],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
] as const
const DIACRITICS = new RegExp(
  `[${DIACRITIC_RANGES.map((range) => range.map((point) => `\\u{${point.toString(16)}}`).join('-')).join('')}]`,
  'gu',
)

/** One stretch of text that was written without a space. */
export interface Compound {
  /** Where it begins and ends, in UTF-16 units. */
  readonly from: number
  readonly to: number
  /** What it is made of: one word, the parts of an identifier, pairs of characters. */
  readonly parts: readonly string[]
  /** All parts as one word, where there are several that make an identifier: nextcursor for next_cursor, nextCursor and next-cursor. */
  readonly whole: string | undefined
  /** Its last character alone, where it is in a script without spaces: with it each character begins some word. */
  readonly last: string | undefined
}

/** The form in which words are compared. */
export function fold(text: string): string {
  if (PLAIN.test(text)) return text
  // Upper case first: it makes ß to SS and ı to I, which lower case would leave as they are.
  return text
    .normalize('NFKD')
    .replaceAll(DIACRITICS, '')
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
}

export function* compoundsOf(text: string): Generator<Compound> {
  for (const { 0: found, index } of text.matchAll(COMPOUND)) {
    const compound = compoundAt(found, index)
    if (compound.parts.length > 0) yield compound
  }
}

/** Every word under which the compound is found. */
export function wordsOf({ parts, whole, last }: Compound): string[] {
  return [...parts, ...(whole === undefined ? [] : [whole]), ...(last === undefined ? [] : [last])]
}

function compoundAt(text: string, from: number): Compound {
  const place = { from, to: from + text.length }
  if (PLAIN.test(text)) return { ...place, parts: [cut(text)], whole: undefined, last: undefined }
  const parts: string[] = []
  let last: string | undefined
  let isUnspaced = false
  for (const joined of text.split(JOINER)) {
    for (const part of joined.split(CAMEL)) {
      for (const [run] of fold(part).matchAll(RUN_OF_ONE_SORT)) {
        if (!UNSPACED.test(run)) {
          parts.push(cut(run))
          continue
        }
        isUnspaced = true
        const characters = Array.from(run)
        last = characters.at(-1)
        if (characters.length === 1) parts.push(run)
        for (let i = 0; i + 1 < characters.length; i++) parts.push(`${characters[i]}${characters[i + 1]}`)
      }
    }
  }
  const isIdentifier = parts.length > 1 && !isUnspaced
  return { ...place, parts, whole: isIdentifier ? cut(parts.join('')) : undefined, last }
}

function cut(word: string): string {
  if (word.length <= WORD_LENGTH_CHARS_MAX) return word
  const beginning = word.slice(0, WORD_LENGTH_CHARS_MAX)
  return beginning.isWellFormed() ? beginning : beginning.slice(0, -1)
}

const SYLLABLES = /^\p{Script=Hangul}+$/u

/** Whether a word may stand for all that begin with it: a few letters would stand for half of a language, a syllable says more. */
export function isStem(word: string): boolean {
  return word.length >= (SYLLABLES.test(word) ? 2 : 3) || UNSPACED.test(word)
}

/** How many letters may be wrong, missing or too many in a word; a number or a hash is right or another one. */
export function typosIn(word: string): number {
  if (word.length < 4 || /\p{N}/u.test(word) || UNSPACED.test(word)) return 0
  return word.length < 6 ? 1 : 2
}
