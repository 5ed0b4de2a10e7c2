/** The files of protocol/vectors. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Vector } from './vector-form.ts'

export const VECTORS_FOLDER = fileURLToPath(new URL('../../protocol/vectors', import.meta.url))

/** Paths of all vectors below the folder, with forward slashes. */
export function vectorPaths(): string[] {
  if (!existsSync(VECTORS_FOLDER)) return []
  return readdirSync(VECTORS_FOLDER, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => relative(VECTORS_FOLDER, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .toSorted()
}

export function vectorText(path: string): string {
  return readFileSync(join(VECTORS_FOLDER, path), 'utf8')
}

export function vectorAt(path: string): Vector {
  return JSON.parse(vectorText(path)) as Vector
}
