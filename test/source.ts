import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** The repository's own root. */
export const ROOT = join(import.meta.dirname, '..')

/** A file of this repository; `path` is from the root, with slashes. */
export interface SourceFile {
  path: string
  text: string
}

export interface Import {
  /** A package, a builtin, or a path from the root. */
  target: string
  /** `import type`: gone when the program runs. */
  erased: boolean
  /** `import()`: done when the program gets there, if ever. */
  dynamic: boolean
}

const STATIC_IMPORT = /^[ \t]*(?:import|export)\s+(type\s)?(?:[^'"`;()]*?\sfrom\s+)?'([^']+)'/gm
const DYNAMIC_IMPORT = /\bimport\(\s*'([^']+)'\s*\)/g

export function importsOf(file: SourceFile): Import[] {
  const code = withoutComments(file.text)
  const resolve = (specifier: string): string =>
    specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : specifier
  return [
    ...[...code.matchAll(STATIC_IMPORT)].map(([, type, specifier = '']) => ({
      target: resolve(specifier),
      erased: type !== undefined,
      dynamic: false,
    })),
    ...[...code.matchAll(DYNAMIC_IMPORT)].map(([, specifier = '']) => ({
      target: resolve(specifier),
      erased: false,
      dynamic: true,
    })),
  ]
}

const COMMENT_OR_TEXT = /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[^]*?\*\/|\/\/[^\n]*/g

export function withoutComments(text: string): string {
  return text.replace(COMMENT_OR_TEXT, (_, quoted: string | undefined) => quoted ?? '')
}

/** What is left is the program itself: no comments, nothing within quotes. */
export function codeOnly(text: string): string {
  return text.replace(COMMENT_OR_TEXT, (_, quoted: string | undefined) => (quoted ? "''" : ''))
}

/** What of `files` and which packages a program loads that starts at `entry`, before its first import(). */
export function loadedBy(entry: string, files: ReadonlyMap<string, SourceFile>): Set<string> {
  const loaded = new Set<string>()
  const visit = (target: string): void => {
    if (loaded.has(target)) return
    loaded.add(target)
    const file = files.get(target)
    if (!file) return
    for (const one of importsOf(file)) if (!one.erased && !one.dynamic) visit(one.target)
  }
  visit(entry)
  return loaded
}

/** Every file below `folders` whose name ends in one of `endings`. */
export function filesBelow(folders: readonly string[], endings: readonly string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
      .map((entry) => fileAt(posix.relative(ROOT, join(entry.parentPath, entry.name)))),
  )
}

export function fileAt(path: string): SourceFile {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
}
