/** The command line: what was typed, one command, one exit code. */
import { CommanderError } from 'commander'
import { homePaths } from '../home.ts'
import { EXIT, explain } from './failure.ts'
import { createPrinter } from './print.ts'
import { createProgram, type Runner } from './program.ts'
import { VERSION } from './version.ts'

const home = homePaths()
const { stdin, stdout, stderr } = process

// Whoever reads the output may stop reading, like `relay-node logs | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT.done)
})

const runner: Runner = async (load, args, options) => {
  const json = options.json === true
  const yes = options.yes === true
  const printer = createPrinter({ json, stdout, stderr })
  try {
    const run = await load()
    const interactive = stdin.isTTY === true && stdout.isTTY === true && !json && !yes
    process.exitCode = (await run({ home, printer, version: VERSION, yes, interactive }, args, options)) ?? EXIT.done
  } catch (error) {
    const failure = explain(error, home)
    printer.failure(failure)
    process.exitCode = failure.exit_code
  }
}

const typed = process.argv.slice(2)
try {
  const program = createProgram({ version: VERSION, runner, write: (text) => stdout.write(text) })
  await program.parseAsync(typed.length === 0 ? ['help'] : typed, { from: 'user' })
} catch (error) {
  // Only what was typed wrongly gets here, help and version among it.
  const failure = explain(error, home)
  if (!(error instanceof CommanderError) || failure.exit_code !== EXIT.done) {
    createPrinter({ json: typed.includes('--json'), stdout, stderr }).failure(failure)
  }
  process.exitCode = failure.exit_code
}
