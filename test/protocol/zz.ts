import { addNode, authorize, emptyGraph, reduce } from '../../protocol/index.ts'
import { placeNode } from '../../protocol/graph.ts'
import { explore } from './explorer.ts'
import type { World } from './explorer-world.ts'
const arg = JSON.parse(process.argv[2] ?? '[]') as World[]
for (const w of arg) {
  const t = performance.now()
  const r = explore({ addNode, authorize, emptyGraph, placeNode, reduce }, w)
  console.log(JSON.stringify(w), r.histories, r.judged, r.stored, JSON.stringify([...r.statuses]), (performance.now() - t) | 0, 'ms')
  for (const v of r.violations) console.log(v)
}
