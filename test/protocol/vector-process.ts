/** `npm run vectors:make`: writes protocol/vectors anew, and removes what is no vector any more. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { allVectors, textOf } from './vector-all.ts'
import { VECTORS_FOLDER, vectorPaths } from './vector-files.ts'

const vectors = await allVectors()
for (const path of vectorPaths()) if (!vectors.has(path)) rmSync(join(VECTORS_FOLDER, path))
let bytes = 0
for (const [path, vector] of vectors) {
  const text = textOf(vector)
  bytes += text.length
  mkdirSync(dirname(join(VECTORS_FOLDER, path)), { recursive: true })
  writeFileSync(join(VECTORS_FOLDER, path), text)
}
console.log(`${vectors.size} vectors, ${Math.ceil(bytes / 1024)} KiB`)
