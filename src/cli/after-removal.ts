/** Reading on a laptop that was removed from its workspace: its human keeps what came before. */
import { ApiError } from '../node/api-error.ts'
import type { Printer } from './print.ts'

/** What `read` gives; where this laptop was removed, that is said, and what is here is read all the same. */
export async function readAlways<T>(printer: Printer, read: (afterRemoval: boolean) => Promise<T>): Promise<T> {
  try {
    return await read(false)
  } catch (error) {
    if (!(error instanceof ApiError) || error.details['reason'] !== 'removed') throw error
    printer.warn(`${error.message} What came before can be read.`)
    return read(true)
  }
}
