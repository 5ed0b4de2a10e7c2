/** `npm run example -- NAME` runs examples/NAME/main.ts; without a name it lists them. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const [name, ...given] = process.argv.slice(2)
const names = readdirSync(import.meta.dirname).filter((one) => existsSync(join(import.meta.dirname, one, 'main.ts')))

if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run example -- NAME, where NAME is one of: ${names.join(', ')}`)
  process.exitCode = 1
} else {
  const main = join(import.meta.dirname, name, 'main.ts')
  const child = spawn(process.execPath, ['--conditions=source', main, ...given], { stdio: 'inherit' })
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
}
