/** A process that takes the lock of a home, says how it went, and keeps it until its standard input ends. */
import { takeLock } from '../../src/cli/instance-lock.ts'
import { homePaths } from '../../src/home.ts'

const lock = takeLock(homePaths())
process.stdout.write(lock.held ? `held ${process.pid}\n` : `taken by ${lock.pid}\n`)
process.stdin.resume()
