//! How do eyes and hands (watches, writes, cloud calls) surround the planner?
