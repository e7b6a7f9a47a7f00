startCurves();
startGroups();
startEpisodes();
startWatch();
