# Put the style of pictures, which is a part of the page's style, into a C file, as one string: for
# pictures in files of their own, in light colours on white.
#
#   cmake -DSTYLE=app/report/page/report.css -DOUTPUT=svg_style.c -P Style.cmake
#
# A rule is taken by its selector, and colours take the place of variables: programs that draw SVG
# for papers know classes, but no variables.
set(of_pictures "svg text |svg [.]|[.](t|f|l|heat)-|[.](grid|base|frame|band|mark|threshold|line|faint|\
halo|badge|tick)[ ,]")
file(READ ${STYLE} text)
string(REGEX MATCH ":root {[^}]*}" colours "${text}")
string(REGEX MATCHALL "--[a-z0-9-]+: #[0-9a-f]+" colours "${colours}")
string(REGEX MATCH "body {[^}]*font: [^ ]+ ([^;}]+)" ignored "${text}")
string(CONCAT style ".sheet { fill: var(--sheet); }\nsvg text { font-family: ${CMAKE_MATCH_1}; "
  "font-variant-numeric: tabular-nums lining-nums; }\n")

file(STRINGS ${STYLE} lines REGEX "^(${of_pictures})")
foreach(line IN LISTS lines)
  string(APPEND style "${line}\n")
endforeach()
string(REPLACE "var(--paper)" "var(--sheet)" style "${style}")
foreach(colour ${colours})
  string(REGEX MATCH "(--[a-z0-9-]+): (#[0-9a-f]+)" ignored ${colour})
  string(REPLACE "var(${CMAKE_MATCH_1})" "${CMAKE_MATCH_2}" style "${style}")
endforeach()
if(NOT style MATCHES "text-anchor" OR NOT style MATCHES "heat-9" OR style MATCHES "var\\(")
  message(FATAL_ERROR "the rules of pictures were not found in ${STYLE}")
endif()

string(HEX "${style}" bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char svg_style[];\nconst char svg_style[] = {${bytes}0};\n")
