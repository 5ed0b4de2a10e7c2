/** The rules with one line of their source changed: what the explorer has to notice. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Rules } from './explorer.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Mutant {
  /** The rule that is broken, in words. */
  readonly name: string
  readonly file: string
  /** A text that stands in the file exactly once; white space does not matter. */
  readonly from: string
  readonly to: string
}

/** Copies protocol/ to a folder of its own, with the change made, and loads it from there. */
export async function loadMutant(mutant: Mutant): Promise<{ rules: Rules } & Disposable> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-mutant-'))
  cpSync(join(ROOT, 'protocol'), join(folder, 'protocol'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  const path = join(folder, 'protocol', mutant.file)
  const source = readFileSync(path, 'utf8')
  // Wherever the formatter breaks its lines.
  const words = mutant.from.split(/\s+/).map((word) => word.replace(/[^\w\s]/g, '\\$&'))
  const parts = source.split(new RegExp(words.join('\\s+')))
  if (parts.length !== 2) throw new Error(`${mutant.file} holds ${parts.length - 1} times: ${mutant.from}`)
  writeFileSync(path, parts.join(mutant.to))
  const load = (file: string): Promise<Partial<Rules>> =>
    import(/* @vite-ignore */ pathToFileURL(join(folder, 'protocol', file)).href) as Promise<Partial<Rules>>
  const loaded = { ...(await load('graph.ts')), ...(await load('authorize.ts')), ...(await load('thread.ts')) }
  return { rules: loaded as Rules, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
