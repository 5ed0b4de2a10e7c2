/** The package's door: a relay-node in one's own program. */
export { type Node, type NodeOptions, openNode } from './node/node.ts'
export { foundWorkspace, type FoundOptions } from './node/found.ts'
