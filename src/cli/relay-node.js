#!/usr/bin/env node
// The one file that an old Node reads: it has to parse there, so that it can say what is needed.
// Hence var, function and then; import() without a static import; and nothing newer.

var NEEDED = [22, 18]
var version = process.versions.node.split('.').map(Number)

if (version[0] < NEEDED[0] || (version[0] === NEEDED[0] && version[1] < NEEDED[1])) {
  console.error('relay-node needs Node ' + NEEDED.join('.') + ' or later; this is Node ' + process.versions.node + '.')
  process.exit(1)
}

// A clone runs from its sources. A published package has none beside this file: Node strips no types
// below node_modules, so it runs what was built.
import('./main.ts').catch(function (error) {
  var isMissing = error.code === 'ERR_MODULE_NOT_FOUND' && String(error.url).endsWith('/src/cli/main.ts')
  if (!isMissing) throw error
  return import('../../dist/src/cli/main.js')
})
