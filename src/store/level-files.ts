import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLog } from './log-reader.ts'

const LOG_FILE = /^(\d+)\.log$/
const TABLE_FILE = /^\d+\.(ldb|sst)$/
const MANIFEST_FILE = /^MANIFEST-\d+$/

/**
 * Damage in a LevelDB folder that LevelDB itself would pass over in silence when it opens: it skips
 * what does not check in a log, takes a missing log for an empty one, and makes a new database (and
 * deletes the tables of the old one) where CURRENT is missing. Nothing is written.
 *
 * Two things cannot be told: a log that was cut exactly behind a record, and a rotten table. Tables
 * are checked as they are read: each value carries a checksum.
 *
 * @returns what is wrong, in words, or undefined
 */
export async function findDamage(folder: string): Promise<string | undefined> {
  const names = await readdir(folder)
  if (!names.includes('CURRENT')) {
    return names.some((name) => LOG_FILE.test(name) || TABLE_FILE.test(name)) ? 'CURRENT is missing' : undefined
  }

  const manifestName = (await readFile(join(folder, 'CURRENT'), 'utf8')).trimEnd()
  if (!MANIFEST_FILE.test(manifestName)) return 'CURRENT names no MANIFEST'
  if (!names.includes(manifestName)) return `${manifestName} is missing`
  const manifest = readLog(await readFile(join(folder, manifestName)))
  if (manifest.damage) return `${manifestName} has ${manifest.damage}`
  const logNumber = lastLogNumber(manifest.records)
  if (logNumber === undefined) return `${manifestName} is cut short`

  const logs = names.filter((name) => LOG_FILE.test(name))
  // 0 in a database that was made or repaired and not opened since.
  if (logNumber > 0 && !logs.some((name) => Number.parseInt(name, 10) === logNumber))
    return `log ${logNumber} is missing`
  for (const name of logs) {
    const { damage } = readLog(await readFile(join(folder, name)))
    if (damage) return `${name} has ${damage}`
  }
  return undefined
}

const COMPARATOR_TAG = 1
const LOG_NUMBER_TAG = 2

/** The log that the newest edit of a MANIFEST names. An edit has it in front, behind the comparator's name if that is there. */
function lastLogNumber(edits: Uint8Array[]): number | undefined {
  for (const edit of edits.toReversed()) {
    let at = 0
    if (edit[at] === COMPARATOR_TAG) {
      const name = varint(edit, at + 1)
      at = name.end + name.value
    }
    if (edit[at] === LOG_NUMBER_TAG) return varint(edit, at + 1).value
  }
  return undefined
}

function varint(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0
  for (let end = at, scale = 1; ; end++, scale *= 128) {
    const byte = bytes[end] ?? 0
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return { value, end: end + 1 }
  }
}
