/** The number of starts, in a file beside the device key: an old copy of the store does not bring it along. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Home, homeError } from '../home.ts'
import type { StartMark } from '../node/recovery.ts'

const NUMBER_TEXT = /^\d{1,15}\n?$/

/** Reading throws nothing: a file that is missing or damaged is no mark. Writing throws HomeError. */
export function startMark(home: Home): StartMark {
  const path = join(dirname(home.key), 'starts')
  return {
    read() {
      try {
        const text = readFileSync(path, 'utf8')
        return NUMBER_TEXT.test(text) ? Number(text) : undefined
      } catch {
        return undefined
      }
    },
    write(starts) {
      const draft = `${path}.${process.pid}`
      try {
        writeFileSync(draft, `${starts}\n`, { mode: 0o600, flush: true })
        renameSync(draft, path)
      } catch (error) {
        throw homeError(error, path)
      }
    },
  }
}
