import { addNode, authorize, emptyGraph, reduce } from '../../protocol/index.ts'
import { placeNode } from '../../protocol/graph.ts'
import { explore } from './explorer.ts'
for (const w of [[1,1,5],[1,2,4],[2,1,3],[2,2,3]] as const) {
  const t = performance.now()
  const r = explore({ addNode, authorize, emptyGraph, placeNode, reduce }, { senders: w[0], recipients: w[1], entriesMax: w[2] })
  console.log(w, r.histories, r.judged, r.stored, [...r.broken], (performance.now() - t) | 0)
  for (const v of r.violations) console.log(v)
}
