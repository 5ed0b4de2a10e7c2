/**
 * Characters that show nothing, or change how others are shown: control characters (ANSI escapes begin with one),
 * bidirectional controls, zero-width and other ignorable characters, tags, line and paragraph separators, lone surrogates.
 * Unicode 16: categories Cc, Cf, Cs, Zl, Zp and the property Default_Ignorable_Code_Point.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** Tab and newline are plain to see; U+FE0F makes a common emoji colourful and can do nothing else. */
const HARMLESS = new Set(['\t', '\n', '\ufe0f'])

/** The text with everything unseen shown as `\uXXXX`, the escape of JSON. Other text is unchanged. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (found) => (HARMLESS.has(found) ? found : escaped(found)))
}

/** `\uXXXX` for each UTF-16 unit. */
export function escaped(text: string): string {
  return Array.from(
    { length: text.length },
    (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}
