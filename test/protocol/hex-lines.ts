/** Bytes as a reader of the specification sees them: hex, one item a line, with what it is beside it. */
import { toHex } from '../../protocol/index.ts'

/** A line of an example: hex, indented, and what it says. A line without hex is a heading. */
export interface HexLine {
  readonly hex: string
  readonly level: number
  readonly note: string
}

export interface CborOptions {
  /** What an item is, by its path: keys and positions, joined with dots; the whole is ''. */
  readonly notes?: Readonly<Record<string, string>>
  /** Paths of byte strings whose content is canonical CBOR itself. */
  readonly within?: readonly string[]
  readonly level?: number
}

const LINE_BYTES = 32

export function heading(note: string): HexLine {
  return { hex: '', level: 0, note }
}

/** Any bytes, 32 a line. */
export function rawLines(bytes: Uint8Array, note = '', level = 0): HexLine[] {
  const lines: HexLine[] = []
  for (let at = 0; at < bytes.length; at += LINE_BYTES)
    lines.push({ hex: toHex(bytes.subarray(at, at + LINE_BYTES)), level, note: at === 0 ? note : '' })
  return lines
}

/** What a hash, signature or derivation is fed: the tag, its zero byte, the array. */
export function taggedLines(bytes: Uint8Array, options: CborOptions = {}): HexLine[] {
  const end = bytes.indexOf(0) + 1
  const tag = new TextDecoder().decode(bytes.subarray(0, end - 1))
  return [...rawLines(bytes.subarray(0, end), `"${tag}" and a zero byte`), ...cborLines(bytes.subarray(end), options)]
}

interface Reader {
  readonly bytes: Uint8Array
  readonly options: CborOptions
  at: number
}

/** Canonical CBOR, item by item. */
export function cborLines(bytes: Uint8Array, options: CborOptions = {}): HexLine[] {
  const reader: Reader = { bytes, options, at: 0 }
  const lines = readItem(reader, { path: '', level: options.level ?? 0, before: '', label: '' })
  if (reader.at !== bytes.length) throw new Error('bytes after the end')
  return lines
}

interface Place {
  readonly path: string
  readonly level: number
  /** Hex of a key that stands on the same line. */
  readonly before: string
  readonly label: string
}

/** What stands beside an item: its key, what it is, and the note of its path. */
function noteOf(reader: Reader, place: Place, text: string): string {
  const note = reader.options.notes?.[place.path]
  return place.label + text + (note === undefined ? '' : `, ${note}`)
}

function takeHead(reader: Reader): { hex: string; major: number; argument: number } {
  const first = reader.bytes[reader.at] ?? 0
  const info = first & 31
  const width = info < 24 ? 0 : 1 << (info - 24)
  let argument = width === 0 ? info : 0
  for (let i = 1; i <= width; i++) argument = argument * 256 + (reader.bytes[reader.at + i] ?? 0)
  const hex = toHex(reader.bytes.subarray(reader.at, reader.at + 1 + width))
  reader.at += 1 + width
  return { hex, major: first >> 5, argument }
}

function readItem(reader: Reader, place: Place): HexLine[] {
  const { level, path } = place
  const { hex, major, argument } = takeHead(reader)
  const line = (text: string, more = ''): HexLine => ({
    hex: [place.before, hex, more].filter((part) => part !== '').join(' '),
    level,
    note: noteOf(reader, place, text),
  })
  switch (major) {
    case 2: {
      const content = reader.bytes.subarray(reader.at, (reader.at += argument))
      if (reader.options.within?.includes(path)) {
        const inner = cborLines(content, { ...innerOptions(reader.options, path), level: level + 1 })
        return [line(`bytes(${argument})`), ...inner]
      }
      return [line(`bytes(${argument})`), ...rawLines(content, '', level + 1)]
    }
    case 3: {
      const content = reader.bytes.subarray(reader.at, (reader.at += argument))
      const text = JSON.stringify(new TextDecoder().decode(content))
      if (argument <= LINE_BYTES) return [line(text, toHex(content))]
      return [line(text), ...rawLines(content, '', level + 1)]
    }
    case 4: {
      const lines = [line(`array(${argument})`)]
      for (let i = 0; i < argument; i++)
        lines.push(...readItem(reader, { path: joined(path, String(i)), level: level + 1, before: '', label: '' }))
      return lines
    }
    case 5: {
      const lines = [line(`map(${argument})`)]
      for (let i = 0; i < argument; i++) lines.push(...readPair(reader, place))
      return lines
    }
    case 7:
      return [line(['false', 'true', 'null'][argument - 20] ?? '')]
    default:
      return [line(String(major === 1 ? -1 - argument : argument))]
  }
}

function readPair(reader: Reader, place: Place): HexLine[] {
  const key = takeHead(reader)
  const content = reader.bytes.subarray(reader.at, (reader.at += key.argument))
  const name = new TextDecoder().decode(content)
  const before = key.hex + toHex(content)
  return readItem(reader, { path: joined(place.path, name), level: place.level + 1, before, label: `"${name}": ` })
}

function joined(path: string, part: string): string {
  return path === '' ? part : `${path}.${part}`
}

function innerOptions(options: CborOptions, path: string): CborOptions {
  const prefix = `${path}/`
  const notes = Object.entries(options.notes ?? {}).flatMap(([key, note]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), note] as const] : [],
  )
  const within = (options.within ?? []).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
  return { notes: Object.fromEntries(notes), within }
}

/** The text of a block: hex on the left, notes in one column on the right. */
export function blockText(lines: readonly HexLine[]): string {
  const left = lines.map(({ hex, level }) => (hex === '' ? '' : '  '.repeat(level) + hex))
  const column = Math.max(...left.map((text) => text.length)) + 2
  return lines
    .map(({ hex, note }, i) => {
      if (note === '') return left[i]
      return hex === '' ? `# ${note}` : `${left[i]?.padEnd(column)}# ${note}`
    })
    .join('\n')
}

/** The bytes that a block spells. */
export function bytesOf(text: string): string {
  return text.replace(/#.*$/gm, '').replace(/\s/g, '')
}
